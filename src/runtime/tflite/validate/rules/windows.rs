//! Convolutions and pooling: a filter that moves over an image.

use super::super::node::Node;
use crate::base::{Result, text};

/// Numbers of the options, which differ by operator; -1 where there is none.
struct Ids {
    padding: usize,
    stride: [usize; 2],
    dilation: Option<[usize; 2]>,
}

/// Height and width.
const CONVOLUTION: Ids = Ids { padding: 0, stride: [2, 1], dilation: Some([5, 4]) };
const DEPTHWISE: Ids = Ids { padding: 0, stride: [2, 1], dilation: Some([6, 5]) };
const POOL: Ids = Ids { padding: 0, stride: [2, 1], dilation: None };
const SIDES: [&str; 2] = ["height", "width"];

/// How many places a filter has on an image; -1 where the image is open.
fn places(node: &Node, ids: &Ids, side: usize, image: i64, filter: i64) -> Result<i64> {
    let name = SIDES[side];
    let stride = i64::from(node.option(ids.stride[side], 0));
    let dilation = ids.dilation.map_or(1, |ids| i64::from(node.option(ids[side], 1)));
    node.expect_within(format_args!("its stride over the {name}"), stride, 1, i64::MAX)?;
    node.expect_within(format_args!("its dilation over the {name}"), dilation, 1, i64::MAX)?;
    let padding = i64::from(node.small_option(ids.padding));
    node.expect_within("its padding", padding, 0, 1)?;
    if image < 0 || filter < 0 {
        return Ok(-1);
    }
    let reach = (filter - 1) * dilation + 1;
    if padding == 0 {
        return Ok((image + stride - 1) / stride);
    }
    match image {
        // nothing is computed of an image without elements
        0 => Ok(-1),
        image if image < reach => {
            Err(node.fault(text!("its filter spans a {name} of {reach}, and the image has {image}")))
        }
        image => Ok((image - reach) / stride + 1),
    }
}

fn check_bias(node: &Node, position: usize, channels: i64) -> Result<()> {
    match node.input(position).and_then(|bias| bias.elements()) {
        Some(count) if node.dims(position).is_some_and(|dims| dims.iter().all(|dim| *dim >= 0)) => node.expect_same(
            format_args!("the number of elements of {}", node.label_input(position)),
            count as i64,
            channels,
        ),
        _ => Ok(()),
    }
}

pub fn convolution(node: &Node) -> Result<()> {
    node.expect_rank(0, 4)?;
    node.expect_rank(1, 4)?;
    let (Some(image), Some(filter)) = (node.dims(0), node.dims(1)) else { return Ok(()) };
    let (channels, depth) = (image[3], filter[3]);
    if filter.iter().all(|dim| *dim >= 0) {
        node.expect_within("the number of channels of its filter", depth, 1, i64::MAX)?;
    }
    if channels >= 0 && depth > 0 && (channels % depth != 0 || channels == 0 || filter[0] % (channels / depth) != 0) {
        let text = text!("its filter is for {depth} channels, and {} has {channels}", node.label_input(0));
        return Err(node.fault(text));
    }
    check_bias(node, 2, filter[0])?;
    let height = places(node, &CONVOLUTION, 0, image[1], filter[1])?;
    let width = places(node, &CONVOLUTION, 1, image[2], filter[2])?;
    node.expect_output(0, &[image[0], height, width, filter[0]])
}

pub fn depthwise(node: &Node) -> Result<()> {
    node.expect_rank(0, 4)?;
    node.expect_rank(1, 4)?;
    let (Some(image), Some(filter)) = (node.dims(0), node.dims(1)) else { return Ok(()) };
    let (channels, made) = (image[3], filter[3]);
    node.expect_same("the first dimension of its filter", filter[0], 1)?;
    if channels == 0 || (channels > 0 && made >= 0 && made % channels != 0) {
        let text = text!("its filter makes {made} channels, which is no multiple of the {channels} of the image");
        return Err(node.fault(text));
    }
    let multiplier = i64::from(node.option(3, 0));
    node.expect_within("its depth multiplier", multiplier, 0, i64::MAX)?;
    if multiplier > 0 && channels > 0 && made >= 0 {
        node.expect_same("the number of channels that its filter makes", made, channels.saturating_mul(multiplier))?;
    }
    check_bias(node, 2, made)?;
    let height = places(node, &DEPTHWISE, 0, image[1], filter[1])?;
    let width = places(node, &DEPTHWISE, 1, image[2], filter[2])?;
    node.expect_output(0, &[image[0], height, width, made])
}

pub fn pool(node: &Node) -> Result<()> {
    node.expect_rank(0, 4)?;
    let sizes = [i64::from(node.option(4, 0)), i64::from(node.option(3, 0))];
    for (size, side) in sizes.iter().zip(SIDES) {
        node.expect_within(format_args!("the {side} of its filter"), *size, 1, i64::MAX)?;
    }
    let Some(image) = node.dims(0) else { return Ok(()) };
    let height = places(node, &POOL, 0, image[1], sizes[0])?;
    let width = places(node, &POOL, 1, image[2], sizes[1])?;
    node.expect_output(0, &[image[0], height, width, image[3]])
}

/// From a small image to a large one, of the shape that the first input has.
pub fn transposed(node: &Node) -> Result<()> {
    node.expect_rank(1, 4)?;
    node.expect_rank(2, 4)?;
    for (id, side) in [(2, "height"), (1, "width")] {
        node.expect_within(format_args!("its stride over the {side}"), i64::from(node.option(id, 0)), 1, i64::MAX)?;
    }
    node.expect_within("its padding", i64::from(node.small_option(0)), 0, 1)?;
    let (Some(filter), Some(image)) = (node.dims(1), node.dims(2)) else { return Ok(()) };
    node.expect_same("the number of channels that its filter is for", filter[3], image[3])?;
    check_bias(node, 3, filter[0])?;
    let Some(shape) = node.integers(0) else { return Ok(()) };
    node.expect_same("the number of dimensions of its output", shape.len() as i64, 4)?;
    for (dim, what) in shape.iter().zip(["the batch", "the height", "the width", "the channels"]) {
        node.expect_within(format_args!("{what} of its output"), *dim, 0, i64::from(i32::MAX))?;
    }
    node.expect_same("the channels of its output", shape[3], filter[0])?;
    node.expect_output(0, &shape)?;
    check_transposed_size(node, &shape, filter, image)
}

/// An image of the output's shape would give one of the input's, by the same filter moved the other way.
fn check_transposed_size(node: &Node, shape: &[i64], filter: &[i64], image: &[i64]) -> Result<()> {
    node.expect_same("the batch of its output", shape[0], image[0])?;
    let ids = Ids { padding: 0, stride: [2, 1], dilation: None };
    for side in 0..2 {
        let wanted = places(node, &ids, side, shape[1 + side], filter[1 + side])?;
        node.expect_same(format_args!("the {} of its image", SIDES[side]), image[1 + side], wanted)?;
    }
    Ok(())
}

/// Of convolutions over three dimensions only the steps.
pub fn volume(node: &Node) -> Result<()> {
    for (id, what) in [(1, "depth"), (2, "width"), (3, "height")] {
        node.expect_within(format_args!("its stride over the {what}"), i64::from(node.option(id, 0)), 1, i64::MAX)?;
    }
    for (id, what) in [(5, "depth"), (6, "width"), (7, "height")] {
        node.expect_within(format_args!("its dilation over the {what}"), i64::from(node.option(id, 1)), 1, i64::MAX)?;
    }
    Ok(())
}
