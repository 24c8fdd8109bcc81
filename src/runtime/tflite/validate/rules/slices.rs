//! Parts of a tensor, and more around it.

use super::super::node::Node;
use crate::base::{Result, text};

pub fn pad(node: &Node) -> Result<()> {
    let (Some(dims), Some(around)) = (node.dims(0), node.integers(1)) else { return Ok(()) };
    node.expect_same("the number of its paddings", around.len() as i64, 2 * dims.len() as i64)?;
    for count in &around {
        node.expect_within("a padding", *count, 0, i64::from(i32::MAX))?;
    }
    let grow = |(dim, around): (&i64, &[i64])| if *dim < 0 { -1 } else { dim + around[0] + around[1] };
    node.expect_output(0, &dims.iter().zip(around.chunks(2)).map(grow).collect::<Vec<_>>())
}

/// What is put around is taken from the inside, which has to have so much.
pub fn mirror(node: &Node) -> Result<()> {
    let (Some(dims), Some(around)) = (node.dims(0), node.integers(1)) else { return Ok(()) };
    // by the mode, the border itself is left out or not
    let border = i64::from(node.small_option(0) == 0);
    for (dim, around) in dims.iter().zip(around.chunks(2)).filter(|(dim, _)| **dim >= 0) {
        for count in around.iter().filter(|count| **count > 0) {
            node.expect_within("a padding", *count, 0, (dim - border).max(0))?;
        }
    }
    Ok(())
}

pub fn slice(node: &Node) -> Result<()> {
    let Some(dims) = node.dims(0) else { return Ok(()) };
    let (begins, sizes) = (node.integers(1), node.integers(2));
    for list in [&begins, &sizes].into_iter().flatten() {
        node.expect_same("the length of its begin or size", list.len() as i64, dims.len() as i64)?;
    }
    let (Some(begins), Some(sizes)) = (begins, sizes) else { return Ok(()) };
    let mut wanted = Vec::new();
    for ((dim, begin), size) in dims.iter().zip(&begins).zip(&sizes) {
        let most = if *dim < 0 { i64::MAX } else { *dim };
        node.expect_within("where it begins", *begin, 0, most)?;
        node.expect_within("its size", *size, -1, if *dim < 0 { i64::MAX } else { dim - begin })?;
        wanted.push(if *size >= 0 { *size } else { dim.saturating_sub(*begin).max(-1) });
    }
    node.expect_output(0, &wanted)
}

/// Masks of a strided slice: a bit for each entry of its lists.
struct Masks {
    begin: i32,
    end: i32,
    shrink: i32,
}

pub fn strided_slice(node: &Node) -> Result<()> {
    let lists = [node.integers(1), node.integers(2), node.integers(3)];
    let names = ["begin", "end", "strides"];
    for (list, name) in lists.iter().zip(names) {
        if let (Some(list), Some(first)) = (list, &lists[0]) {
            node.expect_same(format_args!("the length of its {name}"), list.len() as i64, first.len() as i64)?;
        }
    }
    let [begins, ends, Some(steps)] = lists else { return Ok(()) };
    if steps.contains(&0) {
        return Err(node.fault(text!("its strides are {steps:?}, and a stride cannot be 0")));
    }
    let (is_wide, is_new) = (node.option(2, 0) != 0, node.option(3, 0) != 0);
    let Some(dims) = node.dims(0).filter(|_| !is_wide && !is_new) else { return Ok(()) };
    node.expect_within("the length of its strides", steps.len() as i64, 0, dims.len() as i64)?;
    let (Some(begins), Some(ends)) = (begins, ends) else { return Ok(()) };
    let masks = Masks { begin: node.option(0, 0), end: node.option(1, 0), shrink: node.option(4, 0) };
    // ends that count from the begin
    if node.small_option(5) != 0 {
        return Ok(());
    }
    let mut wanted = Vec::new();
    for (axis, dim) in dims.iter().enumerate() {
        let has = |mask: i32| mask >> axis & 1 != 0;
        let Some(step) = steps.get(axis) else {
            wanted.push(*dim);
            continue;
        };
        if has(masks.shrink) {
            check_one(node, *dim, begins[axis])?;
            continue;
        }
        let begin = (!has(masks.begin)).then_some(begins[axis]);
        let end = (!has(masks.end)).then_some(ends[axis]);
        wanted.push(if *dim < 0 { -1 } else { count(*dim, begin, end, *step) });
    }
    node.expect_output(0, &wanted)
}

/// A dimension of which one element is taken.
fn check_one(node: &Node, dim: i64, begin: i64) -> Result<()> {
    if dim < 0 {
        return Ok(());
    }
    node.expect_within("the element that it takes", begin, -dim, dim - 1)
}

/// How many elements a slice takes.
fn count(dim: i64, begin: Option<i64>, end: Option<i64>, step: i64) -> i64 {
    let (low, high) = if step > 0 { (0, dim) } else { (-1, dim - 1) };
    let place = |at: i64| (if at < 0 { at + dim } else { at }).clamp(low, high);
    let (first, last) = if step > 0 { (0, dim) } else { (dim - 1, -1) };
    let (begin, end) = (begin.map_or(first, place), end.map_or(last, place));
    let span = if step > 0 { end - begin } else { begin - end };
    if span <= 0 { 0 } else { (span + step.abs() - 1) / step.abs() }
}

pub fn gather(node: &Node) -> Result<()> {
    let (Some(dims), Some(places)) = (node.dims(0), node.dims(1)) else { return Ok(()) };
    if dims.is_empty() {
        return Err(node.fault(text!("{} is a scalar", node.label_input(0))));
    }
    let axis = node.expect_axis("its axis", i64::from(node.option(0, 0)), dims.len())?;
    let batch = i64::from(node.option(1, 0));
    node.expect_within("its batch dimensions", batch, -(places.len() as i64), places.len().min(axis) as i64)?;
    if let Some(chosen) = node.integers(1)
        && dims[axis] >= 0
    {
        for place in chosen {
            node.expect_within("an index", place, 0, dims[axis] - 1)?;
        }
    }
    let batch = (if batch < 0 { batch + places.len() as i64 } else { batch }) as usize;
    let wanted = [&dims[..axis], &places[batch.min(places.len())..], &dims[axis + 1..]].concat();
    node.expect_output(0, &wanted)
}

pub fn gather_nd(node: &Node) -> Result<()> {
    let (Some(dims), Some(places)) = (node.dims(0), node.dims(1)) else { return Ok(()) };
    let Some(depth) = places.last() else { return Err(node.fault(text!("{} is a scalar", node.label_input(1)))) };
    node.expect_within("the depth of its indices", *depth, -1, dims.len() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_counted_as_numpy_counts_them() {
        // range(10)[begin:end:step]
        for (begin, end, step, wanted) in [
            (None, None, 1, 10),
            (Some(2), Some(5), 1, 3),
            (Some(-3), None, 1, 3),
            (Some(0), Some(-1), 2, 5),
            (Some(5), Some(2), 1, 0),
            (None, None, -1, 10),
            (Some(8), Some(2), -2, 3),
            (Some(100), None, -3, 4),
            (Some(-100), Some(100), 4, 3),
        ] {
            assert_eq!(count(10, begin, end, step), wanted, "{begin:?} {end:?} {step}");
        }
    }
}
