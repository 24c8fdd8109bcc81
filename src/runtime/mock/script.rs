//! A mock model's text, read.

use super::MAGIC;
use super::line;
use super::rule::Rule;
use super::shapes::SlotSpec;
use super::trace::Trace;
use crate::base::{Result, Side, fail};
use crate::runtime::{Alignment, Facts, Rebind};

/// All that a text says.
#[derive(Clone, Debug)]
pub struct Script {
    pub inputs: Vec<SlotSpec>,
    pub outputs: Vec<SlotSpec>,
    pub facts: Facts,
    pub rules: Vec<Rule>,
    pub unstoppable: bool,
    pub trace: Trace,
}

impl Script {
    pub fn read(bytes: &[u8]) -> Result<Script> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return fail!(ModelInvalid, "a mock model is UTF-8 text");
        };
        let mut lines = text.lines();
        if lines.next() != Some(MAGIC) {
            return fail!(ModelInvalid, "a mock model begins with the line '{MAGIC}'");
        }
        let mut script = Script {
            inputs: Vec::new(),
            outputs: Vec::new(),
            facts: Facts { alignment: Alignment::Element, input_slack: 0, rebind: Rebind::Free },
            rules: Vec::new(),
            unstoppable: false,
            trace: Trace::default(),
        };
        for (number, line) in lines.enumerate() {
            if script.add(line).is_none() {
                return fail!(ModelInvalid, "line {} of the mock model is not understood: '{line}'", number + 2);
            }
        }
        script.check_twins()?;
        Ok(script)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let words = line::words(line);
        let Some((first, rest)) = words.split_first() else { return Some(()) };
        match (*first, rest) {
            ("input", rest) => self.inputs.push(line::slot(Side::Input, rest)?),
            ("output", rest) => self.outputs.push(line::slot(Side::Output, rest)?),
            ("alignment", ["element"]) => self.facts.alignment = Alignment::Element,
            ("alignment", [bytes]) => self.facts.alignment = Alignment::Bytes(line::power_of_two(bytes)?),
            ("slack", [bytes]) => self.facts.input_slack = bytes.parse().ok()?,
            ("rebind", ["replan"]) => self.facts.rebind = Rebind::Replan,
            ("unstoppable", []) => self.unstoppable = true,
            ("trace", [name]) => self.trace = Trace(Some((*name).to_owned())),
            _ => self.rules.push(line::rule(&words)?),
        }
        Some(())
    }

    /// A twin is an input, or an earlier output that has no twin itself.
    fn check_twins(&self) -> Result<()> {
        for (index, output) in self.outputs.iter().enumerate() {
            let is_good = match output.twin {
                None => true,
                Some(twin) if twin.side == Side::Input => twin.index < self.inputs.len(),
                Some(twin) => twin.index < index && self.outputs[twin.index].twin.is_none(),
            };
            if !is_good {
                return fail!(ModelInvalid, "output {index} of the mock model has no such twin");
            }
        }
        Ok(())
    }
}
