//! Graphs that call graphs.

use super::graph::Model;
use super::rules::control::called;
use crate::base::room::filled;
use crate::base::{Gather, Result, fail};

/// Refuses a graph that calls itself, on whatever way.
pub fn check(model: &Model) -> Result<()> {
    let calls: Vec<Vec<usize>> =
        model.graphs.iter().map(|graph| graph.operators.iter().flat_map(called).gather()).gather_all()?;
    if model.graphs.is_empty() {
        return fail!(ModelInvalid, "it has no subgraph");
    }
    // a graph that calls only graphs that end, ends
    let mut ends = filled(false, calls.len())?;
    for _ in 0..calls.len() {
        for (graph, calls) in calls.iter().enumerate() {
            ends[graph] = calls.iter().all(|called| ends.get(*called).copied().unwrap_or(false));
        }
        if ends.iter().all(|ends| *ends) {
            return Ok(());
        }
    }
    match ends.iter().position(|ends| !ends) {
        Some(graph) => fail!(ModelInvalid, "{} calls itself", model.graphs[graph].place()),
        None => Ok(()),
    }
}
