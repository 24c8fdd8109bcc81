//! What a context asks of its engine: the core over the mock, which insists on the contract of the traits and keeps a
//! trace. `cargo test --features mock`

#![cfg(feature = "mock")]

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use zerobind::base::{Desc, Dims, Dtype, Error, Result, Slot, Status};
use zerobind::core::{Context, ContextOptions, CopyPolicy, Model, ModelOptions, Path, Release, Tensor};
use zerobind::memory::{Access, HostRange};
use zerobind::runtime::mock::take_trace;

const X: Slot = Slot::input(0);
const Y: Slot = Slot::input(1);
const Z: Slot = Slot::output(0);

/// Aligned memory of the test, as hosts have it.
#[repr(align(64))]
struct Memory([f32; 32]);

impl Memory {
    fn new(values: &[f32]) -> Box<Memory> {
        let mut memory = Memory([0.0; 32]);
        memory.0[..values.len()].copy_from_slice(values);
        Box::new(memory)
    }

    /// The first `count` floats.
    fn range(&mut self, count: usize) -> HostRange {
        self.range_at(0, count)
    }

    fn range_at(&mut self, start: usize, count: usize) -> HostRange {
        let place = self.0[start..].as_mut_ptr().cast::<c_void>();
        let capacity = (self.0.len() - start) * 4;
        // SAFETY: the tests keep their memory longer than what uses it.
        unsafe { HostRange::new(place, count * 4, capacity, Access::ReadWrite) }
    }

    /// `count` floats as a tensor.
    fn tensor(&mut self, count: usize) -> Arc<Tensor> {
        Tensor::wrap(f32s(&[count as i64]), self.range(count), Release::NONE)
    }
}

fn dims(sizes: &[i64]) -> Dims {
    Dims::new(sizes).unwrap()
}

fn f32s(sizes: &[i64]) -> Desc {
    Desc { dtype: Dtype::F32, dims: dims(sizes) }
}

fn model(lines: &str) -> Arc<Model> {
    let text = format!("zerobind-mock 1\n{lines}");
    Model::open_copy(text.as_bytes(), ModelOptions::default()).unwrap()
}

fn context_of(lines: &str, copy_policy: CopyPolicy) -> Context {
    let options = ContextOptions { threads: 1, copy_policy, ..ContextOptions::default() };
    Context::new(model(lines), &options).unwrap().0
}

fn context(lines: &str) -> Context {
    context_of(lines, CopyPolicy::Never)
}

/// z = x + y, 4 floats each.
fn adder(more: &str) -> Context {
    context(&format!("input x f32 4\ninput y f32 4\noutput z f32 4\n{more}"))
}

/// Memory to lend: slot, range, desc.
type Loan = (Slot, HostRange, Option<Desc>);

fn loan(slot: Slot, range: HostRange, desc: Option<Desc>) -> Loan {
    (slot, range, desc)
}

fn infer_with(context: &mut Context, loans: &[Loan]) -> Result<()> {
    context.infer_with(None, |lending| {
        loans.iter().try_for_each(|(slot, range, desc)| lending.lend(*slot, *range, desc.as_ref()))
    })
}

fn bind(context: &mut Context, slot: Slot, tensor: Arc<Tensor>) -> Result<()> {
    context.bind(slot, &tensor).map(drop)
}

#[track_caller]
fn refused<T>(result: Result<T>, status: Status) -> String {
    let error: Error = result.err().expect("the call was not refused");
    assert_eq!(error.status, status, "{}", error.text());
    error.into_text()
}

#[test]
fn a_settled_context_runs_without_another_attach() {
    let (mut x, mut y, mut z) = (Memory::new(&[1.0, 2.0, 3.0, 4.0]), Memory::new(&[10.0; 4]), Memory::new(&[]));
    let mut context = adder("trace settled");
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    bind(&mut context, Z, z.tensor(4)).unwrap();
    context.infer(None).unwrap();
    assert_eq!(
        take_trace("settled"),
        ["plan [[4], [4]]", "attach input 0 Sticky", "attach input 1 Sticky", "attach output 0 Sticky", "run"]
    );
    for _ in 0..10 {
        context.infer(None).unwrap();
    }
    assert_eq!(take_trace("settled"), ["run"; 10]);
    let stats = context.stats();
    assert_eq!((stats.runs, stats.rebinds, stats.bytes_copied, stats.allocations), (11, 3, 0, 0));
    drop(context);
    assert_eq!(z.0[..4], [11.0, 12.0, 13.0, 14.0]);
    assert_eq!(z.0[4..], [0.0; 28], "bytes behind the output were written");
}

#[test]
fn rebinding_touches_that_slot_alone() {
    let (mut x, mut y, mut other) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]), Memory::new(&[5.0; 4]));
    let mut context = adder("trace rebinding");
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    context.infer(None).unwrap();
    take_trace("rebinding");
    bind(&mut context, Y, other.tensor(4)).unwrap();
    context.infer(None).unwrap();
    assert_eq!(take_trace("rebinding"), ["detach input 1", "attach input 1 Sticky", "run"]);
}

#[test]
fn a_refused_bind_changes_nothing() {
    let (mut x, mut y, mut short) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]), Memory::new(&[]));
    let mut context = adder("trace refused-bind");
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    context.infer(None).unwrap();
    take_trace("refused-bind");
    refused(bind(&mut context, Y, short.tensor(3)), Status::ShapeMismatch);
    refused(bind(&mut context, Slot::input(2), short.tensor(4)), Status::InvalidArgument);
    // still settled, and the view of the last run still stands
    assert!(context.output_view(Z).is_ok());
    context.infer(None).unwrap();
    assert_eq!(take_trace("refused-bind"), ["run"]);
}

#[test]
fn loans_are_taken_back_and_bindings_stay() {
    let (mut x, mut y, mut z) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]), Memory::new(&[]));
    let (mut lent, mut out) = (Memory::new(&[40.0; 4]), Memory::new(&[]));
    let mut context = adder("trace loans");
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    bind(&mut context, Z, z.tensor(4)).unwrap();
    let loans = [loan(Y, lent.range(4), None), loan(Z, out.range(4), None)];
    infer_with(&mut context, &loans).unwrap();
    assert_eq!(
        take_trace("loans"),
        [
            "plan [[4], [4]]",
            "attach input 0 Sticky",
            "attach input 1 OneRun",
            "attach output 0 OneRun",
            "run",
            "end of loan input 1",
            "end of loan output 0"
        ]
    );
    assert_eq!((out.0[0], z.0[0]), (41.0, 0.0));
    context.infer(None).unwrap();
    assert_eq!(take_trace("loans"), ["attach input 1 Sticky", "attach output 0 Sticky", "run"]);
    assert_eq!((out.0[0], z.0[0]), (41.0, 3.0));
}

#[test]
fn a_loan_that_shadowed_nothing_leaves_the_slot_unbound() {
    let (mut x, mut y) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]));
    let mut context = adder("");
    let loans = [loan(X, x.range(4), None), loan(Y, y.range(4), None)];
    infer_with(&mut context, &loans).unwrap();
    assert!(refused(context.infer(None), Status::Unbound).contains("'x'"));
}

#[test]
fn every_way_out_takes_loans_back() {
    let failing: &[(&str, Status)] = &[
        ("attach fail RUNTIME no @2", Status::Runtime),
        ("run fail RUNTIME no @1", Status::Runtime),
        ("finish fail RUNTIME no @1", Status::Runtime),
        ("plan fail RUNTIME no @1", Status::Runtime),
    ];
    for (rule, status) in failing {
        let (mut x, mut y) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]));
        let mut context = adder(&format!("{rule}\ntrace way-out"));
        let loans = [loan(X, x.range(4), None), loan(Y, y.range(4), None)];
        refused(infer_with(&mut context, &loans), *status);
        let trace = take_trace("way-out");
        let count = |what: &str| trace.iter().filter(|event| event.starts_with(what)).count();
        // the attach that failed attached nothing
        let attached = count("attach") - usize::from(rule.starts_with("attach"));
        assert_eq!(attached, count("detach") + count("end of loan"), "{rule}: {trace:?}");
        refused(context.infer(None), Status::Unbound);
        let loans = [loan(X, x.range(4), None), loan(Y, y.range(4), None)];
        infer_with(&mut context, &loans).unwrap();
    }
}

#[test]
fn the_same_slots_again_that_an_engine_refuses() {
    // the first call attaches three, the second fails at its second slot
    let (mut x, mut y, mut z) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]), Memory::new(&[]));
    let mut context = adder("attach fail RUNTIME no @5\ntrace relent");
    let loans = [loan(X, x.range(4), None), loan(Y, y.range(4), None), loan(Z, z.range(4), None)];
    infer_with(&mut context, &loans).unwrap();
    take_trace("relent");
    refused(infer_with(&mut context, &loans), Status::Runtime);
    assert_eq!(take_trace("relent"), ["attach input 0 OneRun", "attach input 1 OneRun", "detach input 0"]);
    refused(context.infer(None), Status::Unbound);
    for _ in 0..2 {
        infer_with(&mut context, &loans).unwrap();
        let trace = take_trace("relent");
        assert_eq!(
            trace[trace.len() - 4..],
            ["run", "end of loan input 0", "end of loan input 1", "end of loan output 0"]
        );
        assert_eq!(z.0[0], 3.0);
        assert_eq!(context.report(Z).unwrap().path, Path::Direct);
    }
}

#[test]
fn refused_runs_leave_nothing_attached() {
    let mut x = Memory::new(&[1.0; 4]);
    let mut context = adder("trace refused-runs");
    let missing = infer_with(&mut context, &[loan(X, x.range(4), None)]);
    assert!(refused(missing, Status::Unbound).contains("'y'"));
    let mut y = Memory::new(&[2.0; 4]);
    let short = infer_with(&mut context, &[loan(X, x.range(4), None), loan(Y, y.range(3), None)]);
    refused(short, Status::ShapeMismatch);
    let twice = infer_with(&mut context, &[loan(X, x.range(4), None), loan(X, y.range(4), None)]);
    refused(twice, Status::InvalidArgument);
    let overlap = [loan(X, x.range(4), None), loan(Y, y.range(4), None), loan(Z, y.range_at(2, 4), None)];
    refused(infer_with(&mut context, &overlap), Status::Aliased);
    assert_eq!(take_trace("refused-runs"), ["plan [[4], [4]]"]);
    // what was said of the earlier loans is forgotten
    refused(context.infer(None), Status::Unbound);
}

#[test]
fn overlap_is_judged_over_loans_and_bindings_together() {
    let (mut x, mut y, mut z) = (Memory::new(&[1.0; 8]), Memory::new(&[2.0; 4]), Memory::new(&[]));
    let mut context = adder("");
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    bind(&mut context, Z, x.tensor(4)).unwrap();
    refused(context.infer(None), Status::Aliased);
    // a loan shadows the binding that was in the way
    infer_with(&mut context, &[loan(Z, z.range(4), None)]).unwrap();
    // slack does not count: the output begins where the input ends
    infer_with(&mut context, &[loan(Z, x.range_at(4, 4), None)]).unwrap();
    // inputs may share
    infer_with(&mut context, &[loan(Y, x.range(4), None), loan(Z, z.range(4), None)]).unwrap();
    assert_eq!(z.0[0], 2.0);
}

#[test]
fn a_failing_plan_brings_the_last_good_shapes_back() {
    let (mut x, mut z) = (Memory::new(&[1.0; 8]), Memory::new(&[]));
    let mut context = context(
        "input x f32 rows=2 2\noutput z f32 rows 2\ntrace replan\nplan fail SHAPE_MISMATCH too many rows @2\nplan fail RUNTIME odd @4",
    );
    context.prepare().unwrap();
    context.resize_input(X, dims(&[3, 2])).unwrap();
    assert!(refused(context.prepare(), Status::ShapeMismatch).contains("too many rows"));
    assert_eq!(context.slot_facts(X).unwrap().desc, f32s(&[2, 2]));
    assert_eq!(context.slot_facts(Z).unwrap().desc, f32s(&[2, 2]));
    let loans = [loan(X, x.range(4), None), loan(Z, z.range(4), None)];
    infer_with(&mut context, &loans).unwrap();
    // the plan that was in force before serves: only two were asked for
    let plans = take_trace("replan").into_iter().filter(|event| event.starts_with("plan")).collect::<Vec<_>>();
    assert_eq!(plans, ["plan [[2, 2]]", "plan [[3, 2]]"].map(|text| text.replace(", ", ",")));
    context.resize_input(X, dims(&[4, 2])).unwrap();
    context.prepare().unwrap();
    context.resize_input(X, dims(&[1, 2])).unwrap();
    refused(context.prepare(), Status::Runtime);
    assert_eq!(context.slot_facts(Z).unwrap().desc, f32s(&[4, 2]));
}

#[test]
fn only_open_dimensions_can_be_resized() {
    let mut context = context("input x f32 rows=2 2\noutput z f32 rows 2");
    refused(context.resize_input(X, dims(&[2, 3])), Status::ShapeMismatch);
    refused(context.resize_input(X, dims(&[2])), Status::ShapeMismatch);
    refused(context.resize_input(Z, dims(&[2, 2])), Status::InvalidArgument);
    refused(context.resize_input(Slot::input(1), dims(&[2, 2])), Status::InvalidArgument);
    assert_eq!(context.slot_facts(X).unwrap().desc, f32s(&[2, 2]));
    context.resize_input(X, dims(&[0, 2])).unwrap();
    infer_with(&mut context, &[loan(X, Memory::new(&[]).range(0), None)]).unwrap();
    assert_eq!(context.slot_facts(Z).unwrap().size, 0);
}

#[test]
fn bindings_stay_across_a_resize_and_are_judged_by_the_run() {
    let mut x = Memory::new(&[1.0; 8]);
    let mut context = context("input x f32 rows=2 2\noutput z f32 rows 2");
    bind(&mut context, X, Tensor::wrap(f32s(&[2, 2]), x.range(4), Release::NONE)).unwrap();
    context.infer(None).unwrap();
    context.resize_input(X, dims(&[3, 2])).unwrap();
    refused(context.infer(None), Status::ShapeMismatch);
    context.resize_input(X, dims(&[2, 2])).unwrap();
    context.infer(None).unwrap();
}

#[test]
fn a_loan_with_a_desc_resizes_and_the_shape_stays() {
    let (mut x, mut z) = (Memory::new(&[1.0; 8]), Memory::new(&[]));
    let mut context = context("input x f32 rows=2 2\noutput z f32 rows 2");
    let loans = [loan(X, x.range(8), Some(f32s(&[4, 2]))), loan(Z, z.range(8), None)];
    infer_with(&mut context, &loans).unwrap();
    assert_eq!(context.slot_facts(Z).unwrap().desc, f32s(&[4, 2]));
    // as the slot is now: 4 rows
    refused(infer_with(&mut context, &[loan(X, x.range(4), None)]), Status::ShapeMismatch);
    infer_with(&mut context, &[loan(X, x.range(8), None)]).unwrap();
}

#[test]
fn a_call_refused_before_planning_leaves_shapes_alone() {
    let mut x = Memory::new(&[1.0; 8]);
    let mut context = context("input x f32 rows=2 2\noutput z f32 rows 2");
    let loans = [loan(X, x.range(8), Some(f32s(&[4, 2]))), loan(Slot::input(9), x.range(8), None)];
    refused(infer_with(&mut context, &loans), Status::InvalidArgument);
    assert_eq!(context.slot_facts(X).unwrap().desc, f32s(&[2, 2]));
}

#[test]
fn a_bound_tensor_gives_an_open_input_its_shape() {
    let (mut x, mut other) = (Memory::new(&[1.0; 6]), Memory::new(&[1.0; 8]));
    let mut context = context("input x f32 rows 2\noutput z f32 rows 2");
    refused(context.prepare(), Status::ShapeMismatch);
    bind(&mut context, X, Tensor::wrap(f32s(&[3, 2]), x.range(6), Release::NONE)).unwrap();
    context.infer(None).unwrap();
    assert_eq!(context.slot_facts(Z).unwrap().desc, f32s(&[3, 2]));
    bind(&mut context, X, Tensor::wrap(f32s(&[4, 2]), other.range(8), Release::NONE)).unwrap();
    context.infer(None).unwrap();
    assert_eq!(context.slot_facts(Z).unwrap().desc, f32s(&[4, 2]));
}

#[test]
fn over_the_limit_is_refused_before_the_engine_plans() {
    let text = "zerobind-mock 1\ninput x f32 rows=1\noutput z f32 rows\ntrace limit";
    let options = ModelOptions { max_tensor_bytes: 1000, ..ModelOptions::default() };
    let model = Model::open_copy(text.as_bytes(), options).unwrap();
    let mut context = Context::new(model, &ContextOptions { threads: 1, ..ContextOptions::default() }).unwrap().0;
    assert!(refused(context.resize_input(X, dims(&[251])), Status::Unsupported).contains("1004"));
    context.resize_input(X, dims(&[250])).unwrap();
    context.prepare().unwrap();
    assert_eq!(take_trace("limit"), ["plan [[250]]"]);
}

#[test]
fn an_output_over_the_limit_leaves_the_last_plan_in_force() {
    let text = "zerobind-mock 1\ninput x f32 rows=1\noutput z f32 rows 100\ntrace output-limit";
    let options = ModelOptions { max_tensor_bytes: 1000, ..ModelOptions::default() };
    let model = Model::open_copy(text.as_bytes(), options).unwrap();
    let mut context = Context::new(model, &ContextOptions { threads: 1, ..ContextOptions::default() }).unwrap().0;
    context.prepare().unwrap();
    context.resize_input(X, dims(&[3])).unwrap();
    assert!(refused(context.prepare(), Status::Unsupported).contains("1200"));
    let mut x = Memory::new(&[7.0]);
    infer_with(&mut context, &[loan(X, x.range(1), None)]).unwrap();
    assert_eq!(context.output_view(Z).unwrap().desc, f32s(&[1, 100]));
}

#[test]
fn twins_are_attached_once() {
    let (mut x, mut y) = (Memory::new(&[1.0; 4]), Memory::new(&[]));
    let lines = "input x f32 4\noutput same f32 4 twin=input:0\noutput y f32 4\noutput again f32 4 twin=output:1";
    let mut strict = context(&format!("{lines}\ntrace twins"));
    bind(&mut strict, X, x.tensor(4)).unwrap();
    bind(&mut strict, Slot::output(0), x.tensor(4)).unwrap();
    bind(&mut strict, Slot::output(1), y.tensor(4)).unwrap();
    bind(&mut strict, Slot::output(2), y.tensor(4)).unwrap();
    strict.infer(None).unwrap();
    assert_eq!(take_trace("twins")[1..], ["attach input 0 Sticky", "attach output 1 Sticky", "run"]);
    for output in 0..3 {
        assert_eq!(strict.report(Slot::output(output)).unwrap().path, Path::Direct);
    }
    // at another address it takes a copy
    let mut copy = Memory::new(&[]);
    bind(&mut strict, Slot::output(2), copy.tensor(4)).unwrap();
    refused(strict.infer(None), Status::CopyRequired);
    let mut allowing = context_of(lines, CopyPolicy::Allow);
    bind(&mut allowing, X, x.tensor(4)).unwrap();
    bind(&mut allowing, Slot::output(0), y.tensor(4)).unwrap();
    bind(&mut allowing, Slot::output(2), copy.tensor(4)).unwrap();
    allowing.infer(None).unwrap();
    assert_eq!((y.0[..4].to_vec(), copy.0[..4].to_vec()), (vec![1.0; 4], vec![1.0; 4]));
    assert_eq!(allowing.report(Slot::output(0)).unwrap().bytes_copied, 16);
    // the other of two twins has no memory, so the tensor lies in that of this one
    assert_eq!(allowing.report(Slot::output(2)).unwrap().path, Path::Direct);
    assert_eq!(allowing.stats().bytes_copied, 16);
}

/// Of three slots that are one tensor, the copy of one says nothing of the two that are at one address.
#[test]
fn a_twin_in_place_beside_one_that_is_copied() {
    let (mut x, mut copy) = (Memory::new(&[1.0; 4]), Memory::new(&[]));
    let lines = "input x f32 4\noutput same f32 4 twin=input:0\noutput again f32 4 twin=input:0";
    let mut context = context_of(lines, CopyPolicy::Allow);
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Slot::output(0), x.tensor(4)).unwrap();
    bind(&mut context, Slot::output(1), copy.tensor(4)).unwrap();
    context.infer(None).unwrap();
    let report = context.report(Slot::output(0)).unwrap();
    assert_eq!((report.path, report.bytes_copied, report.reason), (Path::Direct, 0, None));
    let report = context.report(Slot::output(1)).unwrap();
    assert_eq!((report.path, report.bytes_copied), (Path::Staged, 16));
}

/// Found by reading: the second alone was attached in the place of the first, which no memory can take.
#[test]
fn the_second_of_two_fixed_twins_is_copied() {
    let (mut x, mut again) = (Memory::new(&[3.0; 4]), Memory::new(&[]));
    let lines = "input x f32 4\noutput z f32 4 fixed\noutput again f32 4 fixed twin=output:0";
    let mut strict = context(lines);
    bind(&mut strict, X, x.tensor(4)).unwrap();
    bind(&mut strict, Slot::output(1), again.tensor(4)).unwrap();
    refused(strict.infer(None), Status::CopyRequired);
    let mut allowing = context_of(lines, CopyPolicy::Allow);
    bind(&mut allowing, X, x.tensor(4)).unwrap();
    bind(&mut allowing, Slot::output(1), again.tensor(4)).unwrap();
    allowing.infer(None).unwrap();
    assert_eq!(again.0[..4], [3.0; 4]);
    let report = allowing.report(Slot::output(1)).unwrap();
    assert_eq!((report.path, report.bytes_copied), (Path::Staged, 16));
}

/// Two outputs that are one tensor of a size that only the run tells, at one address: each has a word in whether it fits.
#[test]
fn twins_of_unknown_size_at_one_address() {
    let (mut x, mut hits) = (Memory::new(&[0.0, 5.0, 6.0, 0.0]), Memory::new(&[-1.0; 4]));
    let lines = "input x f32 4\noutput hits f32 -1\noutput again f32 -1 twin=output:0";
    let again = Slot::output(1);
    let room = |hits: &mut Memory, count, desc| Tensor::wrap(f32s(desc), hits.range(count), Release::NONE);
    let mut context = context_of(lines, CopyPolicy::Allow);
    bind(&mut context, X, x.tensor(4)).unwrap();

    // room for the first, a promise for the second that the run does not keep
    bind(&mut context, Z, room(&mut hits, 4, &[-1])).unwrap();
    bind(&mut context, again, room(&mut hits, 1, &[1])).unwrap();
    refused(context.infer(None), Status::BufferTooSmall);
    assert_eq!(hits.0[..3], [5.0, 6.0, -1.0]);
    assert_eq!(context.report(Z).unwrap().path, Path::Staged);
    assert_eq!(context.report(again).unwrap().path, Path::Unbound);
    assert_eq!(context.output_view(again).unwrap().desc, f32s(&[2]));

    // one that it keeps
    bind(&mut context, again, room(&mut hits, 2, &[2])).unwrap();
    context.infer(None).unwrap();
    assert_eq!(context.report(again).unwrap().path, Path::Staged);

    // too little room for both: neither is said to have the result
    hits.0[0] = -1.0;
    bind(&mut context, Z, room(&mut hits, 1, &[-1])).unwrap();
    bind(&mut context, again, room(&mut hits, 1, &[1])).unwrap();
    refused(context.infer(None), Status::BufferTooSmall);
    assert_eq!(hits.0[0], -1.0);
    for slot in [Z, again] {
        assert_eq!(context.report(slot).unwrap().path, Path::Unbound);
        assert_eq!(context.output_view(slot).unwrap().desc, f32s(&[2]));
    }

    // the same promise for both is one place for one tensor
    bind(&mut context, Z, room(&mut hits, 2, &[2])).unwrap();
    bind(&mut context, again, room(&mut hits, 2, &[2])).unwrap();
    context.infer(None).unwrap();
    for slot in [Z, again] {
        assert_eq!(context.report(slot).unwrap().path, Path::Direct);
    }
    assert_eq!(hits.0[..3], [5.0, 6.0, -1.0]);
    // another promise for the second is checked against the result
    bind(&mut context, again, room(&mut hits, 3, &[3])).unwrap();
    refused(context.infer(None), Status::ShapeMismatch);
}

#[test]
fn fixed_outputs_are_viewed_or_copied() {
    let (mut x, mut z) = (Memory::new(&[3.0; 4]), Memory::new(&[]));
    let lines = "input x f32 4\noutput z f32 4 fixed";
    let mut strict = context(lines);
    bind(&mut strict, X, x.tensor(4)).unwrap();
    strict.infer(None).unwrap();
    assert_eq!(strict.output_view(Z).unwrap().memory.size(), 16);
    bind(&mut strict, Z, z.tensor(4)).unwrap();
    refused(strict.infer(None), Status::CopyRequired);
    assert_eq!(z.0[0], 0.0);
    let mut allowing = context_of(lines, CopyPolicy::Allow);
    bind(&mut allowing, X, x.tensor(4)).unwrap();
    bind(&mut allowing, Z, z.tensor(4)).unwrap();
    allowing.infer(None).unwrap();
    let report = allowing.report(Z).unwrap();
    assert_eq!((report.path, report.bytes_copied, z.0[3]), (Path::Staged, 16, 3.0));
    assert!(report.reason.is_some());
}

#[test]
fn misaligned_memory_is_staged_only_when_copies_are_allowed() {
    let (mut x, mut z) = (Memory::new(&[0.0, 1.0, 2.0, 3.0, 4.0]), Memory::new(&[]));
    let lines = "input x f32 4\noutput z f32 4\nalignment 64\ntrace staged";
    let misaligned = Tensor::wrap(f32s(&[4]), x.range_at(1, 4), Release::NONE);
    let mut strict = context(lines);
    assert!(refused(bind(&mut strict, X, misaligned.clone()), Status::Misaligned).contains("64"));
    drop(strict);
    take_trace("staged");
    let mut allowing = context_of(lines, CopyPolicy::Allow);
    bind(&mut allowing, X, misaligned).unwrap();
    bind(&mut allowing, Z, z.tensor(4)).unwrap();
    allowing.infer(None).unwrap();
    allowing.infer(None).unwrap();
    assert_eq!(z.0[..4], [1.0, 2.0, 3.0, 4.0]);
    // staging memory is made once and stays attached
    assert_eq!(take_trace("staged")[1..], ["attach input 0 Sticky", "attach output 0 Sticky", "run", "run"]);
    let stats = allowing.stats();
    assert_eq!((stats.rebinds, stats.allocations, stats.bytes_copied), (2, 1, 32));
    // to aligned memory and back again
    let mut good = Memory::new(&[9.0; 4]);
    infer_with(&mut allowing, &[loan(X, good.range(4), None)]).unwrap();
    assert_eq!((z.0[0], allowing.report(X).unwrap().path), (9.0, Path::Direct));
    allowing.infer(None).unwrap();
    assert_eq!((z.0[0], allowing.report(X).unwrap().path), (1.0, Path::Staged));
}

#[test]
fn a_promised_shape_is_held_or_refused() {
    let (mut x, mut hits) = (Memory::new(&[0.0, 5.0, 6.0, 0.0]), Memory::new(&[-1.0; 4]));
    let mut context = context("input x f32 4\noutput hits f32 -1");
    bind(&mut context, X, x.tensor(4)).unwrap();
    context.infer(None).unwrap();
    assert_eq!(context.output_view(Z).unwrap().desc, f32s(&[2]));
    assert_eq!(context.slot_facts(Z).unwrap().desc, f32s(&[2]));
    infer_with(&mut context, &[loan(Z, hits.range(2), Some(f32s(&[2])))]).unwrap();
    assert_eq!(hits.0[..3], [5.0, 6.0, -1.0]);
    let wrong = infer_with(&mut context, &[loan(Z, hits.range(3), Some(f32s(&[3])))]);
    refused(wrong, Status::ShapeMismatch);
    refused(infer_with(&mut context, &[loan(Z, hits.range(2), None)]), Status::CopyRequired);
}

#[test]
fn the_report_is_that_of_the_last_run() {
    let (mut x, mut y, mut z) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]), Memory::new(&[]));
    let mut context = adder("");
    assert_eq!(context.report(X).unwrap(), zerobind::core::Report::default());
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    infer_with(&mut context, &[loan(Z, z.range(4), None)]).unwrap();
    let address = z.0.as_ptr() as usize;
    let report = context.report(Z).unwrap();
    assert_eq!((report.path, report.host_address, report.engine_address), (Path::Direct, address, address));
    // whatever is bound or refused afterwards, it speaks of that run
    drop(context.unbind(X).unwrap());
    refused(context.infer(None), Status::Unbound);
    assert_eq!(context.report(Z).unwrap(), report);
    let bound = context.report(X).unwrap();
    let address = x.0.as_ptr() as usize;
    assert_eq!((bound.path, bound.host_address, bound.engine_address), (Path::Direct, address, address));
    bind(&mut context, X, y.tensor(4)).unwrap();
    context.infer(None).unwrap();
    assert_eq!(context.report(Z).unwrap().path, Path::Unbound);
    assert_eq!(context.report(X).unwrap().host_address, y.0.as_ptr() as usize);
}

#[test]
fn a_run_that_fails_copies_nothing_out() {
    let (mut x, mut z) = (Memory::new(&[3.0; 4]), Memory::new(&[-1.0; 4]));
    let mut context = context_of("input x f32 4\noutput z f32 4 fixed\nrun fail RUNTIME no @2", CopyPolicy::Allow);
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Z, z.tensor(4)).unwrap();
    for copied in [16, 0, 16] {
        z.0.fill(-1.0);
        assert_eq!(context.infer(None).is_ok(), copied > 0);
        assert_eq!(z.0[0], if copied > 0 { 3.0 } else { -1.0 });
        let report = context.report(Z).unwrap();
        assert_eq!((report.path, report.bytes_copied), (Path::Staged, copied));
        assert_eq!(report.host_address, z.0.as_ptr() as usize);
    }
    assert_eq!(context.stats().bytes_copied, 32);
}

#[test]
fn views_end_with_whatever_may_change_them() {
    let (mut x, mut y) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]));
    let mut context = context("input x f32 rows=4\ninput y f32 rows=4\noutput z f32 rows\nrun fail RUNTIME no @4");
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    refused(context.output_view(Z), Status::Unbound);
    context.infer(None).unwrap();
    assert!(context.output_view(Z).is_ok());
    refused(context.output_view(X), Status::InvalidArgument);
    bind(&mut context, X, y.tensor(4)).unwrap();
    refused(context.output_view(Z), Status::Unbound);
    context.infer(None).unwrap();
    drop(context.unbind(Z).unwrap());
    refused(context.output_view(Z), Status::Unbound);
    context.infer(None).unwrap();
    context.resize_input(X, dims(&[4])).unwrap();
    refused(context.output_view(Z), Status::Unbound);
    refused(context.infer(None), Status::Runtime);
    refused(context.output_view(Z), Status::Unbound);
    // what was lent is the host's alone
    let mut z = Memory::new(&[]);
    infer_with(&mut context, &[loan(Z, z.range(4), None)]).unwrap();
    refused(context.output_view(Z), Status::Unbound);
    // but an output that stayed in the engine's memory can be viewed after loans to other slots
    infer_with(&mut context, &[loan(X, x.range(4), None)]).unwrap();
    assert!(context.output_view(Z).is_ok());
}

#[test]
fn the_report_of_an_output_in_the_engines_memory_is_of_the_last_run() {
    // the mock computes every run's outputs in new memory
    let mut x = Memory::new(&[1.0; 8]);
    let mut context =
        context("input x f32 rows=4\noutput z f32 rows\nplan fail RUNTIME no @3\nreset fail RUNTIME no @1");
    let where_it_is = |context: &mut Context| {
        let address = context.output_view(Z).unwrap().memory.data() as usize;
        let report = context.report(Z).unwrap();
        assert_eq!((report.path, report.host_address, report.engine_address), (Path::Unbound, 0, address));
        address
    };
    bind(&mut context, X, x.tensor(4)).unwrap();
    context.infer(None).unwrap();
    let first = where_it_is(&mut context);
    context.infer(None).unwrap();
    assert_ne!(where_it_is(&mut context), first);
    // a reset that fails, asked for between two runs, is not to leave the address of the first of them
    refused(context.reset_state(), Status::Runtime);
    context.infer(None).unwrap();
    let before = where_it_is(&mut context);
    context.reset_state().unwrap();
    assert_eq!(context.report(Z).unwrap().engine_address, before);
    context.infer(None).unwrap();
    let before = where_it_is(&mut context);
    // planning takes the engine's memory away, and is no run
    context.resize_input(X, dims(&[8])).unwrap();
    context.prepare().unwrap();
    assert_eq!(context.report(Z).unwrap().engine_address, before);
    infer_with(&mut context, &[loan(X, x.range(8), None)]).unwrap();
    let before = where_it_is(&mut context);
    context.resize_input(X, dims(&[2])).unwrap();
    refused(context.prepare(), Status::Runtime);
    assert_eq!(context.report(Z).unwrap().engine_address, before);
    infer_with(&mut context, &[loan(X, x.range(8), None)]).unwrap();
    where_it_is(&mut context);
}

/// next = x + state
const RECURRENT: &str = "input x f32 4\ninput state f32 4\noutput next f32 4\n";
const STATE: Slot = Slot::input(1);
const NEXT: Slot = Slot::output(0);

#[test]
fn a_swap_detaches_and_attaches_two_slots() {
    let (mut x, mut one, mut two) = (Memory::new(&[1.0; 4]), Memory::new(&[0.0; 4]), Memory::new(&[0.0; 4]));
    let mut context = context(&format!("{RECURRENT}trace swap"));
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, STATE, one.tensor(4)).unwrap();
    bind(&mut context, NEXT, two.tensor(4)).unwrap();
    // before there was a run, there is nothing to detach
    context.swap(STATE, NEXT).unwrap();
    context.swap(NEXT, STATE).unwrap();
    assert_eq!(take_trace("swap"), [""; 0]);
    context.infer(None).unwrap();
    take_trace("swap");
    for round in 1..=10 {
        context.swap(STATE, NEXT).unwrap();
        assert_eq!(take_trace("swap"), ["detach input 1", "detach output 0"]);
        context.infer(None).unwrap();
        assert_eq!(take_trace("swap"), ["attach input 1 Sticky", "attach output 0 Sticky", "run"]);
        let (read, written) = if round % 2 == 1 { (&two, &one) } else { (&one, &two) };
        assert_eq!((read.0[3], written.0[3]), (round as f32, (round + 1) as f32));
        for (slot, memory) in [(STATE, read), (NEXT, written)] {
            let (report, address) = (context.report(slot).unwrap(), memory.0.as_ptr() as usize);
            assert_eq!((report.path, report.host_address, report.engine_address), (Path::Direct, address, address));
        }
    }
    // there and back again before the next run: what is read is what was written before
    context.swap(STATE, NEXT).unwrap();
    context.swap(STATE, NEXT).unwrap();
    take_trace("swap");
    context.infer(None).unwrap();
    assert_eq!(take_trace("swap"), ["attach input 1 Sticky", "attach output 0 Sticky", "run"]);
    assert_eq!((one.0[0], two.0[0]), (10.0, 11.0));
    let stats = context.stats();
    assert_eq!((stats.runs, stats.rebinds, stats.bytes_copied, stats.allocations), (12, 25, 0, 0));
}

#[test]
fn a_refused_swap_changes_nothing() {
    let (mut x, mut state, mut next) = (Memory::new(&[1.0; 8]), Memory::new(&[2.0; 8]), Memory::new(&[]));
    let mut context = context(
        "input x f32 rows\ninput state f32 4\ninput mask i32 4\noutput next f32 4\noutput far f32 4\ntrace refused-swap",
    );
    let mask = Tensor::wrap(Desc { dtype: Dtype::I32, dims: dims(&[4]) }, x.range(4), Release::NONE);
    // SAFETY: it is kept longer than what uses it.
    let constant = unsafe { HostRange::new(state.0.as_mut_ptr().cast(), 16, 128, Access::ReadOnly) };
    bind(&mut context, X, x.tensor(8)).unwrap();
    bind(&mut context, STATE, Tensor::wrap(f32s(&[4]), constant, Release::NONE)).unwrap();
    bind(&mut context, Slot::input(2), mask).unwrap();
    bind(&mut context, NEXT, next.tensor(4)).unwrap();
    context.infer(None).unwrap();
    take_trace("refused-swap");
    let cases = [
        (STATE, Slot::output(1), Status::Unbound),
        (STATE, NEXT, Status::ReadOnly),
        (X, STATE, Status::ShapeMismatch),
        (X, NEXT, Status::ShapeMismatch),
        (STATE, Slot::input(2), Status::DtypeMismatch),
        (NEXT, Slot::input(3), Status::InvalidArgument),
        (NEXT, Slot::output(2), Status::InvalidArgument),
    ];
    for (a, b, status) in cases {
        refused(context.swap(a, b), status);
        refused(context.swap(b, a), status);
        assert!(context.output_view(NEXT).is_ok());
        context.infer(None).unwrap();
        assert_eq!(take_trace("refused-swap"), ["run"]);
    }
}

#[test]
fn a_swap_of_a_slot_with_itself_keeps_it() {
    let (mut x, mut y, mut z) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]), Memory::new(&[]));
    let mut context = adder("");
    refused(context.swap(X, X), Status::Unbound);
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    bind(&mut context, Z, z.tensor(4)).unwrap();
    for slot in [X, Y, Z] {
        context.swap(slot, slot).unwrap();
        context.infer(None).unwrap();
        refused(context.swap(slot, Slot::input(2)), Status::InvalidArgument);
    }
    assert_eq!((z.0[0], context.report(Y).unwrap().host_address), (3.0, y.0.as_ptr() as usize));
}

#[test]
fn a_copy_follows_a_swap() {
    let (mut x, mut one, mut two) = (Memory::new(&[1.0; 4]), Memory::new(&[0.0; 8]), Memory::new(&[0.0; 4]));
    let mut context = context_of(&format!("{RECURRENT}alignment 64"), CopyPolicy::Allow);
    let misaligned = Tensor::wrap(f32s(&[4]), one.range_at(1, 4), Release::NONE);
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, STATE, misaligned).unwrap();
    bind(&mut context, NEXT, two.tensor(4)).unwrap();
    let paths = |context: &mut Context| [STATE, NEXT].map(|slot| context.report(slot).unwrap().path);
    for round in 0..6 {
        context.infer(None).unwrap();
        let expected = if round % 2 == 0 { [Path::Staged, Path::Direct] } else { [Path::Direct, Path::Staged] };
        assert_eq!(paths(&mut context), expected);
        context.swap(STATE, NEXT).unwrap();
    }
    assert_eq!((one.0[..6].to_vec(), two.0[0]), (vec![0.0, 6.0, 6.0, 6.0, 6.0, 0.0], 5.0));
    assert_eq!(context.stats().bytes_copied, 6 * 16);
}

#[test]
fn a_swap_lets_go_of_nothing() {
    static RELEASED: AtomicU32 = AtomicU32::new(0);
    let (mut x, mut one, mut two) = (Memory::new(&[1.0; 4]), Memory::new(&[0.0; 4]), Memory::new(&[0.0; 4]));
    let mut context = context(RECURRENT);
    let released = Release::new(|| {
        RELEASED.fetch_add(1, Ordering::SeqCst);
    });
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, STATE, Tensor::wrap(f32s(&[4]), one.range(4), released)).unwrap();
    bind(&mut context, NEXT, two.tensor(4)).unwrap();
    context.infer(None).unwrap();
    context.swap(STATE, NEXT).unwrap();
    context.swap(NEXT, NEXT).unwrap();
    // never run again: the list of the last run must not be what holds the tensor
    drop(context.unbind(STATE).unwrap());
    assert_eq!(RELEASED.load(Ordering::SeqCst), 0);
    drop(context.unbind(NEXT).unwrap());
    assert_eq!(RELEASED.load(Ordering::SeqCst), 1);
}

#[test]
fn a_reset_attaches_everything_anew() {
    let (mut x, mut y, mut z) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]), Memory::new(&[]));
    let mut context = adder("trace reset");
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    bind(&mut context, Z, z.tensor(4)).unwrap();
    // nothing was ever started, so there is no state
    context.reset_state().unwrap();
    context.prepare().unwrap();
    context.reset_state().unwrap();
    assert_eq!(take_trace("reset"), ["plan [[4], [4]]"]);
    context.infer(None).unwrap();
    take_trace("reset");
    let before = [X, Y, Z].map(|slot| context.report(slot).unwrap());
    context.reset_state().unwrap();
    context.reset_state().unwrap();
    assert_eq!(take_trace("reset"), ["reset [[4], [4]]"; 2]);
    refused(context.output_view(Z), Status::Unbound);
    assert_eq!([X, Y, Z].map(|slot| context.report(slot).unwrap()), before);
    z.0[0] = 0.0;
    context.infer(None).unwrap();
    assert_eq!(
        take_trace("reset"),
        ["attach input 0 Sticky", "attach input 1 Sticky", "attach output 0 Sticky", "run"]
    );
    assert_eq!((z.0[0], [X, Y, Z].map(|slot| context.report(slot).unwrap())), (3.0, before));
    let stats = context.stats();
    assert_eq!((stats.runs, stats.rebinds, stats.bytes_copied, stats.allocations), (2, 6, 0, 0));
}

#[test]
fn a_run_that_failed_may_have_left_state() {
    let (mut x, mut y) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]));
    let mut context = adder("run fail RUNTIME no @1\ntrace reset-failed-run");
    bind(&mut context, X, x.tensor(4)).unwrap();
    refused(context.infer(None), Status::Unbound);
    context.reset_state().unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    refused(context.infer(None), Status::Runtime);
    take_trace("reset-failed-run");
    context.reset_state().unwrap();
    context.infer(None).unwrap();
    assert_eq!(
        take_trace("reset-failed-run"),
        ["reset [[4], [4]]", "attach input 0 Sticky", "attach input 1 Sticky", "run"]
    );
}

#[test]
fn a_reset_that_fails_changes_nothing() {
    let (mut x, mut y, mut z) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]), Memory::new(&[]));
    let mut context = adder("reset fail OUT_OF_MEMORY none left @1\ntrace failing-reset");
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Y, y.tensor(4)).unwrap();
    bind(&mut context, Z, z.tensor(4)).unwrap();
    context.infer(None).unwrap();
    let before = context.report(Z).unwrap();
    take_trace("failing-reset");
    assert!(refused(context.reset_state(), Status::OutOfMemory).contains("none left"));
    // the view still stands, and the run finds everything where it was
    assert_eq!(context.output_view(Z).unwrap().memory.data() as usize, z.0.as_ptr() as usize);
    assert_eq!(context.report(Z).unwrap(), before);
    z.0[0] = 0.0;
    context.infer(None).unwrap();
    assert_eq!(take_trace("failing-reset"), ["reset [[4],[4]]".replace(",", ", ").as_str(), "run"]);
    assert_eq!((z.0[0], context.stats().rebinds), (3.0, 3));
    // the second works
    context.reset_state().unwrap();
    context.infer(None).unwrap();
    assert_eq!(context.stats().rebinds, 6);
}

#[test]
fn a_reset_is_for_the_shapes_of_the_plan() {
    let (mut x, mut z) = (Memory::new(&[1.0; 8]), Memory::new(&[]));
    let mut context =
        context("input x f32 rows=2\noutput z f32 rows\ntrace reset-shapes\nplan fail SHAPE_MISMATCH no @3");
    let trace = || take_trace("reset-shapes");
    let loans = [loan(X, x.range(3), Some(f32s(&[3]))), loan(Z, z.range(3), None)];
    infer_with(&mut context, &loans).unwrap();
    trace();
    context.reset_state().unwrap();
    assert_eq!((trace(), context.slot_facts(Z).unwrap().desc), (vec!["reset [[3]]".to_owned()], f32s(&[3])));
    infer_with(&mut context, &[loan(X, x.range(3), None), loan(Z, z.range(3), None)]).unwrap();
    trace();
    // a shape that is asked for and not planned yet stays asked for
    context.resize_input(X, dims(&[5])).unwrap();
    context.reset_state().unwrap();
    assert_eq!((trace(), context.slot_facts(X).unwrap().desc), (vec!["reset [[3]]".to_owned()], f32s(&[5])));
    infer_with(&mut context, &[loan(X, x.range(5), None), loan(Z, z.range(5), None)]).unwrap();
    assert_eq!((trace()[0].as_str(), z.0[..6].to_vec()), ("plan [[5]]", vec![1.0, 1.0, 1.0, 1.0, 1.0, 0.0]));
    // and if it cannot be planned, the shapes that worked return
    context.resize_input(X, dims(&[6])).unwrap();
    context.reset_state().unwrap();
    refused(context.prepare(), Status::ShapeMismatch);
    assert_eq!(context.slot_facts(X).unwrap().desc, f32s(&[5]));
    infer_with(&mut context, &[loan(X, x.range(5), None), loan(Z, z.range(5), None)]).unwrap();
}

#[test]
fn a_reset_makes_staging_anew() {
    let (mut x, mut z) = (Memory::new(&[0.0, 1.0, 2.0, 3.0, 4.0]), Memory::new(&[]));
    let mut context = context_of("input x f32 4\noutput z f32 4\nalignment 64\ntrace reset-staged", CopyPolicy::Allow);
    let misaligned = Tensor::wrap(f32s(&[4]), x.range_at(1, 4), Release::NONE);
    bind(&mut context, X, misaligned).unwrap();
    bind(&mut context, Z, z.tensor(4)).unwrap();
    context.infer(None).unwrap();
    let before = context.report(X).unwrap();
    take_trace("reset-staged");
    context.reset_state().unwrap();
    assert_eq!(context.report(X).unwrap(), before);
    context.infer(None).unwrap();
    assert_eq!(take_trace("reset-staged")[1..], ["attach input 0 Sticky", "attach output 0 Sticky", "run"]);
    assert_eq!((z.0[..4].to_vec(), context.stats().allocations), (vec![1.0, 2.0, 3.0, 4.0], 2));
}

/// The memory behind a room, and the room.
fn room(memory: &mut Memory, count: usize) -> (HostRange, Desc) {
    (memory.range(count), f32s(&[-1]))
}

#[test]
fn room_for_a_result_of_unknown_size() {
    let lines = "input x f32 4\noutput hits f32 -1\ntrace room";
    let (mut x, mut hits) = (Memory::new(&[0.0, 5.0, 6.0, 0.0]), Memory::new(&[-1.0; 8]));
    let (range, desc) = room(&mut hits, 3);
    // without copies there is nothing that the room could be used for
    let mut strict = context(lines);
    bind(&mut strict, X, x.tensor(4)).unwrap();
    bind(&mut strict, Z, Tensor::wrap(desc, range, Release::NONE)).unwrap();
    assert!(refused(strict.infer(None), Status::CopyRequired).contains("'hits'"));
    assert_eq!((take_trace("room"), hits.0[..8].to_vec()), (vec!["plan [[4]]".to_owned()], vec![-1.0; 8]));
    drop(strict);
    take_trace("room");
    let mut allowing = context_of(lines, CopyPolicy::Allow);
    bind(&mut allowing, X, x.tensor(4)).unwrap();
    bind(&mut allowing, Z, Tensor::wrap(desc, range, Release::NONE)).unwrap();
    let mut copied = 0;
    for values in [[0.0, 5.0, 6.0, 0.0], [7.0, 0.0, 0.0, 0.0], [0.0; 4], [1.0, 2.0, 3.0, 0.0]] {
        let found: Vec<f32> = values.into_iter().filter(|value| *value != 0.0).collect();
        x.0[..4].copy_from_slice(&values);
        hits.0.fill(-1.0);
        allowing.infer(None).unwrap();
        // what lies behind the result stays as it was, in the room and behind it
        assert_eq!(hits.0[..found.len()], found);
        assert!(hits.0[found.len()..].iter().all(|value| *value == -1.0));
        let report = allowing.report(Z).unwrap();
        assert_eq!((report.path, report.bytes_copied), (Path::Staged, 4 * found.len() as u64));
        assert_eq!(report.host_address, hits.0.as_ptr() as usize);
        assert_ne!(report.engine_address, report.host_address);
        copied += report.bytes_copied;
        let view = allowing.output_view(Z).unwrap();
        assert_eq!((view.desc, view.memory.data() as usize), (f32s(&[found.len() as i64]), report.host_address));
        assert_eq!(view.memory.size(), 4 * found.len());
        assert_eq!(allowing.slot_facts(Z).unwrap().desc, view.desc);
    }
    assert_eq!(allowing.stats().bytes_copied, copied);
    // the engine is never given the room
    assert!(take_trace("room").iter().all(|event| !event.starts_with("attach output")));
}

#[test]
fn room_that_is_too_small_stays_as_it_was() {
    let (mut x, mut hits) = (Memory::new(&[4.0, 5.0, 6.0, 0.0]), Memory::new(&[-1.0; 4]));
    let mut context = context_of("input x f32 4\noutput hits f32 -1", CopyPolicy::Allow);
    let (range, desc) = room(&mut hits, 2);
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Z, Tensor::wrap(desc, range, Release::NONE)).unwrap();
    for _ in 0..2 {
        let text = refused(context.infer(None), Status::BufferTooSmall);
        assert!(text.contains("12") && text.contains('8'), "{text}");
        assert_eq!(hits.0, [[-1.0; 4].as_slice(), &[0.0; 28]].concat()[..]);
        // the result is there all the same
        let view = context.output_view(Z).unwrap();
        assert_eq!((view.desc, view.memory.size()), (f32s(&[3]), 12));
        assert_eq!(context.slot_facts(Z).unwrap().desc, f32s(&[3]));
        assert_eq!(context.report(Z).unwrap().path, Path::Unbound);
        // with fewer hits the same room does
        x.0[1] = 0.0;
        context.infer(None).unwrap();
        assert_eq!((hits.0[..3].to_vec(), context.report(Z).unwrap().bytes_copied), (vec![4.0, 6.0, -1.0], 8));
        x.0[1] = 5.0;
        hits.0[..2].fill(-1.0);
    }
    assert_eq!((context.stats().runs, context.stats().bytes_copied), (2, 16));
    // a room of nothing is room for nothing
    infer_with(&mut context, &[loan(X, Memory::new(&[0.0; 4]).range(4), None), loan(Z, range.prefix(0), Some(desc))])
        .unwrap();
    assert_eq!(context.report(Z).unwrap().bytes_copied, 0);
}

#[test]
fn room_for_what_planning_knows_is_used_in_place() {
    let (mut x, mut z) = (Memory::new(&[1.0; 4]), Memory::new(&[-1.0; 8]));
    let mut context = context("input x f32 rows=4\noutput z f32 rows\ntrace known-room");
    let (range, desc) = room(&mut z, 6);
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Z, Tensor::wrap(desc, range, Release::NONE)).unwrap();
    context.infer(None).unwrap();
    assert_eq!(take_trace("known-room")[2..], ["attach output 0 Sticky", "run"]);
    assert_eq!(z.0[..6], [1.0, 1.0, 1.0, 1.0, -1.0, -1.0]);
    let report = context.report(Z).unwrap();
    assert_eq!((report.path, report.bytes_copied, report.engine_address), (Path::Direct, 0, report.host_address));
    assert_eq!(context.output_view(Z).unwrap().desc, f32s(&[4]));
    // another shape finds the same room, as long as it fits
    let mut longer = Memory::new(&[2.0; 7]);
    infer_with(&mut context, &[loan(X, longer.range(6), Some(f32s(&[6])))]).unwrap();
    assert_eq!((z.0[5], z.0[6]), (2.0, -1.0));
    let too_long = infer_with(&mut context, &[loan(X, longer.range(7), Some(f32s(&[7])))]);
    let text = refused(too_long, Status::BufferTooSmall);
    assert!(text.contains("28") && text.contains("24"), "{text}");
}

#[test]
fn room_is_for_outputs_only_and_of_the_right_kind() {
    let (mut x, mut z) = (Memory::new(&[1.0; 4]), Memory::new(&[]));
    let mut context = context_of("input x f32 rows=4 2\noutput z f32 -1 2", CopyPolicy::Allow);
    let wrap = |memory: &mut Memory, sizes: &[i64]| Tensor::wrap(f32s(sizes), memory.range(8), Release::NONE);
    refused(bind(&mut context, X, wrap(&mut x, &[-1, 2])), Status::ShapeMismatch);
    refused(infer_with(&mut context, &[loan(X, x.range(8), Some(f32s(&[-1, 2])))]), Status::ShapeMismatch);
    bind(&mut context, X, wrap(&mut x, &[4, 2])).unwrap();
    context.prepare().unwrap();
    for sizes in [[-1i64, 3].as_slice(), &[-1], &[-1, -1, 2]] {
        refused(bind(&mut context, Z, wrap(&mut z, sizes)), Status::ShapeMismatch);
    }
    let integers = Desc { dtype: Dtype::I32, dims: dims(&[-1, 2]) };
    refused(bind(&mut context, Z, Tensor::wrap(integers, z.range(8), Release::NONE)), Status::DtypeMismatch);
    bind(&mut context, Z, wrap(&mut z, &[-1, 2])).unwrap();
    refused(context.swap(X, Z), Status::ShapeMismatch);
    context.infer(None).unwrap();
}

#[test]
fn rooms_change_places() {
    let (mut x, mut large, mut small) = (Memory::new(&[7.0, 8.0, 9.0, 0.0]), Memory::new(&[]), Memory::new(&[]));
    let mut context = context_of("input x f32 4\noutput hits f32 -1\noutput more f32 -1", CopyPolicy::Allow);
    let wrap = |(range, desc): (HostRange, Desc)| Tensor::wrap(desc, range, Release::NONE);
    bind(&mut context, X, x.tensor(4)).unwrap();
    bind(&mut context, Z, wrap(room(&mut large, 3))).unwrap();
    bind(&mut context, Slot::output(1), wrap(room(&mut small, 2))).unwrap();
    assert!(refused(context.infer(None), Status::BufferTooSmall).contains("'more'"));
    // one of them was written all the same
    assert_eq!((large.0[..3].to_vec(), small.0[0]), (vec![7.0, 8.0, 9.0], 0.0));
    large.0.fill(0.0);
    context.swap(Z, Slot::output(1)).unwrap();
    assert!(refused(context.infer(None), Status::BufferTooSmall).contains("'hits'"));
    assert_eq!((large.0[..3].to_vec(), small.0[0]), (vec![7.0, 8.0, 9.0], 0.0));
    x.0[0] = 0.0;
    context.infer(None).unwrap();
    assert_eq!((large.0[..3].to_vec(), small.0[..3].to_vec()), (vec![8.0, 9.0, 9.0], vec![8.0, 9.0, 0.0]));
}

#[test]
fn a_tensor_of_two_contexts_is_free_again_after_a_failed_run() {
    let (mut x, mut y, mut z) = (Memory::new(&[1.0; 4]), Memory::new(&[2.0; 4]), Memory::new(&[]));
    let shared = z.tensor(4);
    let mut failing = adder("run fail RUNTIME no");
    let mut working = adder("");
    for context in [&mut failing, &mut working] {
        bind(context, X, x.tensor(4)).unwrap();
        bind(context, Y, y.tensor(4)).unwrap();
        bind(context, Z, shared.clone()).unwrap();
    }
    refused(failing.infer(None), Status::Runtime);
    working.infer(None).unwrap();
    assert_eq!(z.0[0], 3.0);
}

#[test]
fn release_comes_when_the_last_binding_goes() {
    static RELEASED: AtomicU32 = AtomicU32::new(0);
    let mut x = Memory::new(&[1.0; 4]);
    let mut context = context("input x f32 4\noutput z f32 4");
    let release = Release::new(|| {
        RELEASED.fetch_add(1, Ordering::SeqCst);
    });
    let tensor = Tensor::wrap(f32s(&[4]), x.range(4), release);
    bind(&mut context, X, tensor.clone()).unwrap();
    drop(tensor);
    context.infer(None).unwrap();
    assert_eq!(RELEASED.load(Ordering::SeqCst), 0);
    let displaced = context.unbind(X).unwrap();
    assert_eq!(RELEASED.load(Ordering::SeqCst), 0, "the release runs when the caller lets go, not inside the context");
    drop(displaced);
    assert_eq!(RELEASED.load(Ordering::SeqCst), 1);
}

#[test]
fn a_script_that_makes_no_sense_is_an_invalid_model() {
    let bad = [
        "input x f33 4",
        "inputs x f32 4",
        "output z f32 4 twin=input:0",
        "run fly",
        "\u{1}",
        "output z f32 4 twin=output:0",
    ];
    for lines in bad {
        let text = format!("zerobind-mock 1\n{lines}");
        refused(Model::open_copy(text.as_bytes(), ModelOptions::default()), Status::ModelInvalid);
    }
}
