//! Constants that are stored without their zeros.
//!
//! Dimensions are walked in the traversal order, blocks after them. A dense one has so many positions for each position of the
//! ones before; a compressed one has a list of segments, by which the positions before find theirs among the indices.

use super::graph::Tensor;
use super::schema::{self, field};
use crate::base::room::filled;
use crate::base::{Error, Gather, Result, Status, text};
use crate::runtime::tflite::flatbuffer::Table;

fn bad<T>(text: String) -> Result<T> {
    Err(Error::new(Status::ModelInvalid, text))
}

pub fn check(tensor: &Tensor) -> Result<()> {
    let Some(table) = tensor.table.table(field::tensor::SPARSITY) else {
        return bad(text!("its sparsity cannot be read"));
    };
    let rank = tensor.shape.len();
    let order: Vec<i32> = table.ints(field::sparsity::TRAVERSAL_ORDER).gather()?;
    let blocks: Vec<i32> = table.ints(field::sparsity::BLOCK_MAP).gather()?;
    let dimensions = table.tables(field::sparsity::DIMENSIONS);
    if order.len() != rank + blocks.len() || dimensions.len() != order.len() {
        return bad(text!(
            "its sparsity has an order of {} dimensions, {} blocks and {} descriptions, and the tensor {rank} dimensions",
            order.len(),
            blocks.len(),
            dimensions.len()
        ));
    }
    check_order(&order, rank)?;
    check_blocks(&blocks, rank)?;
    let mut positions = 1u64;
    for at in 0..order.len() {
        let Some(dimension) = dimensions.get(at) else {
            return bad(text!("dimension {at} of its sparsity cannot be read"));
        };
        positions = walk(dimension, positions, most_of(tensor, &order, at)).map_err(|error| {
            let text = text!("dimension {at} of its sparsity {}", error.text());
            error.with_text(text)
        })?;
    }
    check_count(tensor, positions)
}

/// As many elements as the walk ends with.
fn check_count(tensor: &Tensor, positions: u64) -> Result<()> {
    let (Some(value), Some(bits)) = (tensor.value, schema::bits(tensor.kind)) else { return Ok(()) };
    if positions.checked_mul(bits).map(|bits| bits.div_ceil(8)) > Some(value.len() as u64) {
        return bad(text!("its buffer has {} bytes, and its sparsity tells of {positions} elements", value.len()));
    }
    Ok(())
}

fn check_order(order: &[i32], rank: usize) -> Result<()> {
    let mut seen = filled(false, order.len())?;
    for (at, dimension) in order.iter().enumerate() {
        match usize::try_from(*dimension).ok().filter(|dimension| *dimension < order.len()) {
            // blocks come after the dimensions
            Some(dimension) if !seen[dimension] && (dimension < rank) == (at < rank) => seen[dimension] = true,
            _ => return bad(text!("the order of its sparsity is {order:?}, and has to name each dimension once")),
        }
    }
    Ok(())
}

fn check_blocks(blocks: &[i32], rank: usize) -> Result<()> {
    let is_good = |block: &i32| usize::try_from(*block).is_ok_and(|block| block < rank);
    match blocks.iter().find(|block| !is_good(block)) {
        Some(block) => bad(text!("its sparsity has a block of dimension {block}, and the tensor has {rank}")),
        None => Ok(()),
    }
}

/// What an index of the dimension at this place of the walk has to be below; blocks divide it further.
fn most_of(tensor: &Tensor, order: &[i32], at: usize) -> u64 {
    let dimension = usize::try_from(order[at]).unwrap_or(usize::MAX);
    tensor.shape.get(dimension).map_or(u64::MAX, |dim| u64::try_from(*dim).unwrap_or(0))
}

/// How many positions there are after a dimension, from how many there are before it.
fn walk(dimension: Table, before: u64, most: u64) -> Result<u64> {
    const DENSE: u8 = 0;
    if dimension.u8(field::dimension::FORMAT, 0) == Some(DENSE) {
        let size = dimension.i32(field::dimension::DENSE_SIZE, 0).and_then(|size| u64::try_from(size).ok());
        let size = size
            .filter(|size| *size <= most)
            .map_or_else(|| bad(text!("has a size that does not fit the shape")), Ok)?;
        return before.checked_mul(size).map_or_else(|| bad(text!("has too many positions")), Ok);
    }
    let segments = read_list(dimension, field::dimension::SEGMENTS_TYPE, field::dimension::SEGMENTS)?;
    let indices = read_list(dimension, field::dimension::INDICES_TYPE, field::dimension::INDICES)?;
    if before.checked_add(1) != Some(segments.len() as u64) {
        return bad(text!("has {} segments for {before} positions", segments.len()));
    }
    if segments.first() != Some(&0) || !segments.is_sorted() || segments.last() != Some(&(indices.len() as u64)) {
        return bad(text!("has segments that do not divide its {} indices", indices.len()));
    }
    match indices.iter().find(|index| **index >= most) {
        Some(index) => bad(text!("has the index {index}, and the dimension is {most}")),
        None => Ok(indices.len() as u64),
    }
}

/// A list of whole numbers of 32, 16 or 8 bits.
fn read_list(dimension: Table, kind: usize, list: usize) -> Result<Vec<u64>> {
    let table = dimension.table(list).map_or_else(|| bad(text!("has no list")), Ok)?;
    match dimension.u8(kind, 0) {
        // one that is negative becomes too large to pass
        Some(1) => table.ints(0).map(|number| number as u32 as u64).gather(),
        Some(2) => table.numbers(0).unwrap_or_default().iter().map(|bytes| u16::from_le_bytes(*bytes).into()).gather(),
        Some(3) => table.bytes(0).unwrap_or_default().iter().map(|byte| u64::from(*byte)).gather(),
        _ => bad(text!("has a list of an unknown kind")),
    }
}
