//! Operators that run other graphs, and variables.

use super::super::graph::{Graph, Operator};
use super::super::node::Node;
use super::super::operators::name_of;
use super::super::schema::{kind, kind_name};
use crate::base::{Result, text};

/// The options that name graphs, of operators that call some.
fn graph_options(operator: &Operator) -> &'static [usize] {
    match name_of(operator.code) {
        "IF" | "WHILE" => &[0, 1],
        "CALL_ONCE" | "CALL" => &[0],
        _ => &[],
    }
}

/// The numbers of the graphs that an operator calls.
pub fn called(operator: &Operator) -> impl Iterator<Item = usize> {
    let named = graph_options(operator).iter().filter_map(|id| operator.options?.i32(*id, 0));
    named.filter_map(|number| usize::try_from(number).ok())
}

fn graph<'m, 'a>(node: &Node<'m, 'a>, id: usize, what: &str) -> Result<&'m Graph<'a>> {
    let number = node.option(id, 0);
    let found = usize::try_from(number).ok().and_then(|number| node.model.graphs.get(number));
    let Some(found) = found else {
        return Err(node.fault(text!("its {what} is subgraph {number}, and the model has {}", node.model.graphs.len())));
    };
    // the engine shares memory between the two sides, one by one
    let twice = |(at, index): (usize, &i32)| found.inputs[..at].contains(index).then_some(*index);
    match found.inputs.iter().enumerate().find_map(twice) {
        Some(index) => {
            Err(node.fault(text!("its {what}, {}, has {} as an input twice", found.place(), found.label(index))))
        }
        None => Ok(found),
    }
}

/// Tensors of the operator against those of the graph that it calls.
fn expect_slots(node: &Node, of: &Graph, side: &str, outer: &[i32], inner: &[i32]) -> Result<()> {
    let name = of.place();
    if outer.len() != inner.len() {
        return Err(node.fault(text!("it gives {} tensors for the {} {side} of {name}", outer.len(), inner.len())));
    }
    for (position, (outer, inner)) in outer.iter().zip(inner).enumerate() {
        let (Some(given), Some(wanted)) = (node.graph.tensor(*outer), of.tensor(*inner)) else { continue };
        if given.kind != wanted.kind {
            let (given, wanted) = (kind_name(given.kind), kind_name(wanted.kind));
            let text =
                text!("it gives {given} for {} {position} of {name}, which is {wanted}", &side[..side.len() - 1]);
            return Err(node.fault(text));
        }
    }
    Ok(())
}

pub fn branches(node: &Node) -> Result<()> {
    node.expect_kind(0, &[kind::BOOL])?;
    for (id, what) in [(0, "branch for true"), (1, "branch for false")] {
        let branch = graph(node, id, what)?;
        expect_slots(node, branch, "inputs", &node.operator.inputs[1..], &branch.inputs)?;
        expect_slots(node, branch, "outputs", &node.operator.outputs, &branch.outputs)?;
    }
    Ok(())
}

pub fn repeats(node: &Node) -> Result<()> {
    let (condition, body) = (graph(node, 0, "condition")?, graph(node, 1, "body")?);
    expect_slots(node, condition, "inputs", &node.operator.inputs, &condition.inputs)?;
    expect_slots(node, body, "inputs", &node.operator.inputs, &body.inputs)?;
    expect_slots(node, body, "outputs", &node.operator.outputs, &body.outputs)?;
    match condition.outputs[..] {
        [answer] if condition.tensor(answer).is_some_and(|tensor| tensor.kind == kind::BOOL) => Ok(()),
        _ => Err(node.fault(text!("its condition, {}, has to have one output of bool", condition.place()))),
    }
}

pub fn calls_once(node: &Node) -> Result<()> {
    let once = graph(node, 0, "graph to be called once")?;
    expect_slots(node, once, "inputs", &[], &once.inputs)?;
    expect_slots(node, once, "outputs", &[], &once.outputs)
}

pub fn gives_handle(node: &Node) -> Result<()> {
    match node.output(0) {
        Some(tensor) if tensor.kind != kind::RESOURCE => {
            Err(node.fault(text!("{} has to be a resource", node.label_output(0))))
        }
        _ => Ok(()),
    }
}

pub fn takes_handle(node: &Node) -> Result<()> {
    node.expect_kind(0, &[kind::RESOURCE])
}
