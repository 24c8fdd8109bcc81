//! Tensors by themselves: shapes, sizes, the bytes of constants, quantization.

use super::graph::{Graph, Tensor};
use super::schema::{field, kind, kind_name};
use super::sparsity;
use crate::base::{Result, fail, text};

pub fn check(graph: &Graph, most: u64) -> Result<()> {
    for (index, tensor) in graph.tensors.iter().enumerate() {
        check_shape(graph, index, tensor, most)?;
        check_value(graph, index, tensor)?;
        check_quantization(graph, index, tensor)?;
        if tensor.is_sparse {
            sparsity::check(tensor).map_err(|error| error.at(graph.label(index as i32)).at(graph.place()))?;
        }
    }
    Ok(())
}

fn check_shape(graph: &Graph, index: usize, tensor: &Tensor, most: u64) -> Result<()> {
    let shape = || text!("{:?}", tensor.shape);
    // -1 is how some files write an open dimension into the shape itself
    if tensor.shape.iter().any(|dim| *dim < -1) {
        return Err(graph.fault(index, text!("its shape has a dimension below 0: {:?}", tensor.shape)));
    }
    if tensor.shape.contains(&-1) {
        return Ok(());
    }
    if tensor.elements().is_none() {
        return Err(graph.fault(index, text!("its shape {} has more elements than fit in 64 bits", shape())));
    }
    match tensor.bytes() {
        Some(bytes) if bytes > most => fail!(
            Unsupported,
            "{}: {} of shape {} needs {bytes} bytes, over the limit of {most}: raise max_tensor_bytes in zb_model_options \
             if that is meant",
            graph.place(),
            graph.label(index as i32),
            shape()
        ),
        _ => Ok(()),
    }
}

fn check_value(graph: &Graph, index: usize, tensor: &Tensor) -> Result<()> {
    let Some(value) = tensor.value else { return Ok(()) };
    if tensor.kind == kind::STRING {
        return check_strings(value, tensor).map_err(|text| graph.fault(index, text));
    }
    if tensor.is_sparse {
        return Ok(());
    }
    match tensor.bytes() {
        Some(bytes) if bytes > value.len() as u64 => {
            let text = text!("its buffer has {} bytes, and {} needs {bytes}", value.len(), tensor.shown());
            Err(graph.fault(index, text))
        }
        _ => Ok(()),
    }
}

/// A count, then so many offsets and the end, then the bytes of the strings.
fn check_strings(value: &[u8], tensor: &Tensor) -> std::result::Result<(), String> {
    let words = value.as_chunks().0;
    let word = |at: usize| words.get(at).map(|word| i64::from(i32::from_le_bytes(*word)));
    let (Some(count), Some(elements)) = (word(0), tensor.elements()) else {
        return Err(text!("its buffer is too short for strings"));
    };
    if u64::try_from(count) != Ok(elements) {
        return Err(text!("its buffer has {count} strings, and its shape {elements}"));
    }
    let mut last = 4 * (count + 2);
    for at in 0..=count {
        let offset = usize::try_from(at).ok().and_then(|at| word(at + 1));
        match offset {
            Some(offset) if offset >= last && offset <= value.len() as i64 => last = offset,
            _ => return Err(text!("the offset of string {at} in its buffer leads out of it")),
        }
    }
    Ok(())
}

/// What can be stored for 0, of types that are quantized by a zero point. The engine keeps it in 32 bits.
fn zero_point_range(kind: u8) -> Option<std::ops::RangeInclusive<i64>> {
    match kind {
        kind::U8 => Some(0..=255),
        kind::I8 => Some(-128..=127),
        kind::I16 => Some(-32768..=32767),
        kind::I32 => Some(i64::from(i32::MIN)..=i64::from(i32::MAX)),
        _ => None,
    }
}

fn check_quantization(graph: &Graph, index: usize, tensor: &Tensor) -> Result<()> {
    let Some(table) = tensor.table.table(field::tensor::QUANTIZATION) else { return Ok(()) };
    let scales = table.numbers::<4>(field::quantization::SCALE).unwrap_or_default();
    let zero_points = table.numbers::<8>(field::quantization::ZERO_POINT).unwrap_or_default();
    let dimension = table.i32(field::quantization::DIMENSION, 0).unwrap_or(0);
    let fault = |text: String| Err(graph.fault(index, text));
    // the engine takes both or neither
    if scales.is_empty() || zero_points.is_empty() {
        return Ok(());
    }
    if zero_points.len() != scales.len() && zero_points.len() != 1 {
        return fault(text!("its quantization has {} scales and {} zero points", scales.len(), zero_points.len()));
    }
    if let Some(range) = zero_point_range(tensor.kind) {
        let numbers = zero_points.iter().map(|bytes| i64::from_le_bytes(*bytes));
        if let Some(bad) = numbers.into_iter().find(|number| !range.contains(number)) {
            return fault(text!("its zero point is {bad}, which {} cannot hold", kind_name(tensor.kind)));
        }
    }
    if scales.len() > 1 {
        let Some(dim) = usize::try_from(dimension).ok().and_then(|at| tensor.shape.get(at)) else {
            return fault(text!("it is quantized along dimension {dimension}, and has {}", tensor.shape.len()));
        };
        if *dim >= 0 && scales.len() as i64 != i64::from(*dim) {
            return fault(text!("its quantization has {} scales for a dimension of {dim}", scales.len()));
        }
    }
    Ok(())
}
