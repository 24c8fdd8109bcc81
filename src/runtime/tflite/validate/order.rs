//! Who makes each tensor: it is made once, by what comes before its use.

use super::graph::Graph;
use super::node::expect_tensor;
use super::operators::name_of;
use crate::base::{Gather, Result, text};

#[derive(Clone, Copy, PartialEq)]
enum Maker {
    Nobody,
    /// It is in the file, or it keeps its value from run to run.
    Always,
    Host,
    Operator(usize),
}

pub fn check(graph: &Graph) -> Result<()> {
    let mut makers: Vec<Maker> = graph.tensors.iter().map(first_maker).gather()?;
    for index in &graph.inputs {
        expect_tensor(graph, "an input of the graph", *index)?;
        let index = *index as usize;
        if graph.tensors[index].value.is_some() {
            return Err(graph.fault(index, "it is an input of the graph, and has a value in the file"));
        }
        makers[index] = Maker::Host;
    }
    for (number, operator) in graph.operators.iter().enumerate() {
        // indices were checked; what is left out is below 0
        for index in operator.inputs.iter().filter_map(|index| usize::try_from(*index).ok()) {
            expect_made(graph, &makers, index, format_args!("operator {number} {} reads it", name_of(operator.code)))?;
        }
        for index in operator.outputs.iter().filter_map(|index| usize::try_from(*index).ok()) {
            expect_free(graph, &makers, index, number)?;
            makers[index] = Maker::Operator(number);
        }
    }
    for index in &graph.outputs {
        expect_tensor(graph, "an output of the graph", *index)?;
        expect_made(graph, &makers, *index as usize, "it is an output of the graph")?;
    }
    Ok(())
}

fn first_maker(tensor: &super::graph::Tensor) -> Maker {
    // one without elements has nothing that could be missing
    let is_there = tensor.value.is_some() || tensor.is_variable || tensor.elements() == Some(0);
    if is_there { Maker::Always } else { Maker::Nobody }
}

fn expect_made(graph: &Graph, makers: &[Maker], index: usize, use_of_it: impl std::fmt::Display) -> Result<()> {
    if makers[index] != Maker::Nobody {
        return Ok(());
    }
    Err(graph
        .fault(index, text!("{use_of_it}, and nothing before makes it: no operator, no input, no value in the file")))
}

fn expect_free(graph: &Graph, makers: &[Maker], index: usize, number: usize) -> Result<()> {
    let tensor = &graph.tensors[index];
    let text = match makers[index] {
        _ if tensor.value.is_some() => "its value is in the file",
        Maker::Host => "it is an input of the graph",
        Maker::Operator(earlier) => &text!("operator {earlier} writes it already"),
        Maker::Always | Maker::Nobody => return Ok(()),
    };
    Err(graph.fault(index, text!("operator {number} {} writes it, and {text}", name_of(graph.operators[number].code))))
}
