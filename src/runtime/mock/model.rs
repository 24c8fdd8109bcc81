//! A model: a script and the slots that it declares.

use std::sync::Arc;

use super::context::MockContext;
use super::rule::{Rules, Stage};
use super::script::Script;
use super::shapes::SlotSpec;
use super::{LINE_OPTION, line};
use crate::base::{Metadata, Result, Signature, SlotInfo, fail};
use crate::runtime::{EngineContext, EngineModel, EngineOptions, ModelSource};

pub struct MockModel {
    script: Arc<Script>,
    inputs: Vec<SlotInfo>,
    outputs: Vec<SlotInfo>,
    source: Arc<ModelSource>,
}

impl MockModel {
    pub fn open(source: Arc<ModelSource>) -> Result<MockModel> {
        let script = Script::read(source.bytes())?;
        Rules::new(script.rules.clone()).reach(Stage::Open)?;
        let infos = |specs: &[SlotSpec]| specs.iter().map(SlotSpec::info).collect::<Result<Vec<_>>>();
        let (inputs, outputs) = (infos(&script.inputs)?, infos(&script.outputs)?);
        Ok(MockModel { script: Arc::new(script), inputs, outputs, source })
    }
}

impl EngineModel for MockModel {
    fn inputs(&self) -> &[SlotInfo] {
        &self.inputs
    }

    fn outputs(&self) -> &[SlotInfo] {
        &self.outputs
    }

    fn metadata(&self) -> &[Metadata] {
        &[]
    }

    fn signatures(&self) -> &[Signature] {
        &[]
    }

    fn new_context(&self, options: &EngineOptions) -> Result<Box<dyn EngineContext>> {
        assert!(options.threads >= 1, "the core gives at least one thread");
        let mut rules = self.script.rules.clone();
        for (key, value) in &options.settings {
            assert_eq!(key, LINE_OPTION, "only options that the engine knows are passed on");
            let Some(rule) = line::rule_line(value) else {
                return fail!(InvalidArgument, "option '{key}': '{value}' is not understood");
            };
            rules.push(rule);
        }
        let mut rules = Rules::new(rules);
        rules.reach(Stage::Context)?;
        Ok(Box::new(MockContext::new(self.script.clone(), rules)))
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        // the bytes have to be there until the very end
        let script = Script::read(self.source.bytes());
        assert!(script.is_ok() || std::thread::panicking(), "the bytes of the model changed while it was open");
        let _ = Rules::new(self.script.rules.clone()).reach(Stage::ModelDrop);
    }
}
