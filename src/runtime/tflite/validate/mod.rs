//! What the engine takes on trust in a model's file, checked before it works with it.
//!
//! The engine's own verifier sees that every offset of the file stays inside; what the numbers there mean it mostly does not
//! look at. Its interpreter checks some of them, its kernels check others, and the XNNPACK delegate takes shapes as the file
//! gives them. What is refused here contradicts the format or the operators' own definitions, so that no engine could run it
//! as it was meant; what cannot be decided from the file alone, as shapes that are open, is left to the engine.

mod control;
mod graph;
mod names;
mod node;
mod operators;
mod order;
mod rules;
mod schema;
mod sparsity;
mod tensors;

#[cfg(test)]
mod tests;

use crate::base::{Error, Result};

/// Refuses a file that contradicts itself, or of which a tensor, intermediate ones included, takes more than `most` bytes.
pub fn check(file: &[u8], most: u64) -> Result<()> {
    check_all(file, most).map_err(|error: Error| error.at("the model is damaged, or for another engine"))
}

fn check_all(file: &[u8], most: u64) -> Result<()> {
    let model = graph::Model::read(file)?;
    for graph in &model.graphs {
        tensors::check(graph, most)?;
        operators::check(&model, graph)?;
        order::check(graph)?;
    }
    control::check(&model)
}
