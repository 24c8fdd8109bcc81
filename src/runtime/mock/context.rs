//! An execution state that insists on the contract: whoever breaks it gets a panic that says how.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::Arc;

use super::compute::{self, Elements};
use super::planted;
use super::rule::{Rules, Stage};
use super::script::Script;
use super::shapes;
use super::stop::Flag;
use crate::base::{Desc, Dims, Result, Side, Slot, fail};
use crate::memory::{Access, Buffer, HostRange, page_size};
use crate::runtime::{
    Alignment, Canceller, EngineContext, Facts, Loan, OutputView, Plan, PlannedSlot, Stay, run_attached,
};

pub struct MockContext {
    script: Arc<Script>,
    rules: Rules,
    plan: Option<Plan>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    stop: Arc<Flag>,
    /// There was a successful run, and nothing since that ends what it computed.
    has_values: bool,
}

/// What is at a slot.
#[derive(Default)]
struct Port {
    attached: Option<Attached>,
    /// Where memory was that was lent for the last run.
    ended: Option<HostRange>,
    /// The engine's own memory, of an output.
    own: Option<Buffer>,
    /// What the last run computed.
    computed: Option<Desc>,
}

#[derive(Clone, Copy)]
struct Attached {
    memory: HostRange,
    desc: Desc,
    stay: Stay,
}

impl MockContext {
    pub fn new(script: Arc<Script>, rules: Rules) -> MockContext {
        let ports = |count| (0..count).map(|_| Port::default()).collect();
        let (inputs, outputs) = (ports(script.inputs.len()), ports(script.outputs.len()));
        MockContext { script, rules, plan: None, inputs, outputs, stop: Arc::default(), has_values: false }
    }

    fn ports(&mut self, side: Side) -> &mut Vec<Port> {
        match side {
            Side::Input => &mut self.inputs,
            Side::Output => &mut self.outputs,
        }
    }

    fn port(&mut self, slot: Slot) -> &mut Port {
        self.ports(slot.side).get_mut(slot.index).unwrap_or_else(|| panic!("contract: there is no {slot}"))
    }

    fn planned(&self, slot: Slot) -> &PlannedSlot {
        let plan = self.plan.as_ref().expect("contract: nothing was planned");
        let slots = if slot.side == Side::Input { &plan.inputs } else { &plan.outputs };
        slots.get(slot.index).unwrap_or_else(|| panic!("contract: there is no {slot}"))
    }

    fn attached(&self) -> impl Iterator<Item = (Slot, &Attached)> {
        let inputs = self.inputs.iter().enumerate().map(|(index, port)| (Slot::input(index), port));
        let outputs = self.outputs.iter().enumerate().map(|(index, port)| (Slot::output(index), port));
        inputs.chain(outputs).filter_map(|(slot, port)| port.attached.as_ref().map(|attached| (slot, attached)))
    }

    /// What was lent is not used after its run.
    fn end_loans(&mut self) {
        let lent = |attached: &&Attached| attached.stay == Stay::OneRun;
        let slots: Vec<Slot> = self.attached().filter(|(_, attached)| lent(attached)).map(|(slot, _)| slot).collect();
        for slot in slots {
            self.script.trace.note(|| format!("end of loan {slot}"));
            let port = self.port(slot);
            port.computed = None;
            port.ended = port.attached.take().map(|attached| attached.memory);
        }
    }

    fn check_memory(&self, slot: Slot, memory: &HostRange, desc: &Desc) {
        let planned = self.planned(slot);
        assert!(planned.fixed.is_none(), "contract: {slot} is fixed, and was attached");
        assert!(planned.twin.is_none(), "contract: {slot} is a twin, and was attached");
        assert_eq!(desc.dtype, planned.desc.dtype, "contract: the type of {slot}");
        assert!(desc.dims.is_known(), "contract: {slot} was attached as {desc}");
        assert!(desc.dims.matches(&planned.desc.dims), "contract: {slot} is {}, attached as {desc}", planned.desc);
        let size = desc.byte_size().expect("contract: a known size");
        assert_eq!(memory.size() as u64, size, "contract: the size of {slot}");
        if size == 0 {
            return;
        }
        assert!(!memory.data().is_null(), "contract: {slot} was attached to NULL");
        let alignment = match self.script.facts.alignment {
            Alignment::Bytes(bytes) => bytes,
            Alignment::Element => desc.dtype.natural_alignment(),
        };
        assert!((memory.data() as usize).is_multiple_of(alignment), "contract: {slot} is misaligned");
        match slot.side {
            Side::Input => self.check_slack(slot, memory),
            Side::Output => {
                assert_eq!(memory.access(), Access::ReadWrite, "contract: {slot} is read-only");
            }
        }
    }

    fn check_slack(&self, slot: Slot, memory: &HostRange) {
        let slack = self.script.facts.input_slack;
        let end = memory.data() as usize + memory.size();
        let left_in_page = end.next_multiple_of(page_size()) - end;
        let is_enough = memory.capacity() - memory.size() >= slack || left_in_page >= slack;
        assert!(is_enough, "contract: {slot} has too little readable memory behind it");
    }

    fn check_before_run(&mut self) {
        for (index, port) in self.inputs.iter().enumerate() {
            assert!(port.attached.is_some(), "contract: a run without input {index}");
        }
        let attached: Vec<_> = self.attached().map(|(slot, attached)| (slot, attached.memory)).collect();
        for (slot, memory) in attached.iter().filter(|(slot, _)| slot.side == Side::Output) {
            for (other, taken) in attached.iter().filter(|(other, _)| other != slot) {
                assert!(!memory.overlaps(taken), "contract: {slot} overlaps {other}");
            }
        }
    }

    fn run_to_the_end(&mut self) -> Result<()> {
        self.rules.reach(Stage::Run)?;
        self.stop.check()?;
        let before: Vec<_> = self.sources().iter().map(Elements::copy).collect();
        for index in 0..self.outputs.len() {
            self.compute(index)?;
        }
        planted::act(self.sources().first().copied(), self.first_target());
        let after: Vec<_> = self.sources().iter().map(Elements::copy).collect();
        assert!(before == after, "contract: somebody wrote to an input during the run");
        self.rules.reach(Stage::Finish)?;
        self.stop.check()?;
        self.has_values = true;
        Ok(())
    }

    fn sources(&self) -> Vec<Elements> {
        let attached = self.attached().filter(|(slot, _)| slot.side == Side::Input);
        attached.map(|(_, attached)| Elements::new(attached.memory, attached.desc.dtype)).collect()
    }

    /// The memory of the first output, if it is the host's.
    fn first_target(&self) -> Option<Elements> {
        let attached = self.outputs.first()?.attached.as_ref()?;
        Some(Elements::new(attached.memory, attached.desc.dtype))
    }

    fn compute(&mut self, index: usize) -> Result<()> {
        let planned = self.planned(Slot::output(index));
        let (desc, is_twin) = (planned.desc, planned.twin.is_some());
        if is_twin {
            return Ok(());
        }
        if !desc.dims.is_known() {
            return self.compute_hits(index, desc);
        }
        let target = self.place_for(index, desc)?;
        let inputs = if self.script.outputs[index].constant { Vec::new() } else { self.sources() };
        if self.rules.is_slow(Stage::Run) {
            compute::sum(&inputs, target, std::thread::yield_now);
        } else {
            compute::sum(&inputs, target, || ());
        }
        Ok(())
    }

    /// An output whose shape depends on the data.
    fn compute_hits(&mut self, index: usize, planned: Desc) -> Result<()> {
        let hits = self.sources().first().map(|input| compute::hits(*input)).unwrap_or_default();
        let mut desc = planned;
        for dim in desc.dims.as_mut_slice().iter_mut().filter(|dim| **dim < 0) {
            *dim = hits.len() as i64;
        }
        let target = self.place_for(index, desc)?;
        for position in 0..target.count() {
            target.set(position, hits.get(position).copied().unwrap_or(0.0));
        }
        Ok(())
    }

    /// Where an output goes: what is attached, which has to be of that shape, or memory of our own.
    fn place_for(&mut self, index: usize, desc: Desc) -> Result<Elements> {
        let port = &mut self.outputs[index];
        if let Some(attached) = &port.attached {
            if attached.desc != desc {
                let promised = attached.desc;
                return fail!(ShapeMismatch, "output {index} was promised to be {promised}, but is {desc}");
            }
            port.computed = Some(desc);
            return Ok(Elements::new(attached.memory, desc.dtype));
        }
        let own = Buffer::zeroed(desc.byte_size()? as usize, 64)?;
        let elements = Elements::new(own.range(), desc.dtype);
        port.own = Some(own);
        port.computed = Some(desc);
        Ok(elements)
    }
}

impl EngineContext for MockContext {
    fn facts(&self) -> Facts {
        self.script.facts
    }

    fn plan(&mut self, inputs: &[Dims]) -> Result<Plan> {
        self.has_values = false;
        if let Some((slot, _)) = self.attached().next() {
            panic!("contract: {slot} is attached while planning");
        }
        assert_eq!(inputs.len(), self.inputs.len(), "contract: a shape for each input");
        for (spec, dims) in self.script.inputs.iter().zip(inputs) {
            assert!(dims.is_known(), "contract: the shape of '{}' is {dims}", spec.name);
            let declared = spec.info().expect("it was described before").desc.dims;
            assert!(dims.matches(&declared), "contract: '{}' is {declared}, planned as {dims}", spec.name);
        }
        self.script.trace.note(|| format!("plan {inputs:?}"));
        self.rules.reach(Stage::Plan)?;
        let plan = shapes::plan(&self.script.inputs, &self.script.outputs, inputs)?;
        self.plan = Some(plan.copy()?);
        for port in &mut self.outputs {
            port.own = None;
            port.computed = None;
        }
        Ok(plan)
    }

    fn attach(&mut self, slot: Slot, memory: HostRange, desc: &Desc, stay: Stay) -> Result<()> {
        self.has_values = false;
        self.check_memory(slot, &memory, desc);
        self.script.trace.note(|| format!("attach {slot} {stay:?}"));
        self.rules.reach(Stage::Attach)?;
        let port = self.port(slot);
        port.ended = None;
        port.attached = Some(Attached { memory, desc: *desc, stay });
        Ok(())
    }

    fn detach(&mut self, slot: Slot) {
        self.script.trace.note(|| format!("detach {slot}"));
        let port = self.port(slot);
        // values of other slots stay: loans are taken back before an output is looked at
        port.computed = None;
        let was = port.attached.take();
        assert!(was.is_some() && port.ended.is_none(), "contract: {slot} was detached, but nothing was attached");
    }

    fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        (!self.script.unstoppable).then(|| self.stop.clone() as Arc<dyn Canceller>)
    }

    fn run(&mut self) -> Result<()> {
        self.has_values = false;
        self.check_before_run();
        self.script.trace.note(|| "run".to_owned());
        for port in self.inputs.iter_mut().chain(&mut self.outputs) {
            port.ended = None;
        }
        let result = self.run_to_the_end();
        self.end_loans();
        result
    }

    fn run_lent(&mut self, loans: &[Loan]) -> Result<()> {
        run_attached(self, loans, |context, loan| {
            let desc = context.planned(loan.slot).desc;
            context.attach(loan.slot, loan.memory, &desc, Stay::OneRun)
        })
    }

    fn reset(&mut self, inputs: &[Dims]) -> Result<Option<Plan>> {
        self.script.trace.note(|| format!("reset {inputs:?}"));
        self.rules.reach(Stage::Reset)?;
        let plan = shapes::plan(&self.script.inputs, &self.script.outputs, inputs)?;
        let ports = |count| (0..count).map(|_| Port::default()).collect();
        self.inputs = ports(self.script.inputs.len());
        self.outputs = ports(self.script.outputs.len());
        self.has_values = false;
        self.plan = Some(plan.copy()?);
        Ok(Some(plan))
    }

    fn output(&mut self, slot: Slot) -> Result<OutputView> {
        assert_eq!(slot.side, Side::Output, "contract: {slot} is no output");
        assert!(self.has_values, "contract: {slot} is asked for, but there was no successful run before");
        assert!(self.planned(slot).twin.is_none(), "contract: {slot} is a twin, and was asked for");
        self.rules.reach(Stage::Output)?;
        let port = self.port(slot);
        let memory = port.attached.map(|attached| attached.memory).or_else(|| port.own.as_ref().map(Buffer::range));
        match (memory, port.computed) {
            (Some(memory), Some(desc)) => Ok(OutputView { memory, desc }),
            _ => fail!(Runtime, "{slot} has no value"),
        }
    }

    fn engine_address(&mut self, slot: Slot) -> *const c_void {
        let port = self.port(slot);
        let attached = port.attached.map(|attached| attached.memory).or(port.ended);
        let memory = attached.or_else(|| port.own.as_ref().map(Buffer::range));
        memory.map_or(null(), |memory| memory.data().cast_const())
    }
}

impl Drop for MockContext {
    fn drop(&mut self) {
        self.script.trace.note(|| "drop".to_owned());
        let _ = self.rules.reach(Stage::ContextDrop);
    }
}
