//! Operators that slide a window: how far their padding, or the steps between what they put out, make an image grow.

use super::makers::Operands;

/// A window over one dimension.
struct Window {
    /// What one position of it covers.
    reach: i128,
    step: i128,
    /// Padding on both sides.
    pads: i128,
    /// The image's size; 1 where it is not known.
    size: i128,
}

/// Convolutions, whose channels come from the weights, and pools, which have none.
pub fn slid(node: &Operands) -> Option<Vec<i128>> {
    // only padding makes more than there was
    node.list(b"pads")?;
    let sizes = node.shortage().gather(windows(node)?.into_iter().map(|window| {
        let room = window.size + window.pads - window.reach;
        if room < 0 { 0 } else { room / window.step + 1 }
    }))?;
    let channels = if node.has(1) { node.dims(1)?.first().copied() } else { None };
    image(node, channels, &sizes)
}

/// Convolutions the other way.
pub fn spread(node: &Operands) -> Option<Vec<i128>> {
    if node.list(b"output_shape").is_some() {
        return None;
    }
    let more = node.list(b"output_padding");
    let sizes = windows(node)?.into_iter().enumerate().map(|(axis, window)| {
        let more = more.as_ref().and_then(|more| more.get(axis)).copied().unwrap_or(0);
        let apart = (window.size - 1).saturating_mul(window.step);
        apart.saturating_add(more + window.reach - window.pads).max(0)
    });
    let groups = node.int(b"group").unwrap_or(1);
    let channels = node.dims(1)?.get(1)?.checked_mul(groups)?;
    image(node, Some(channels), &node.shortage().gather(sizes)?)
}

fn windows(node: &Operands) -> Option<Vec<Window>> {
    if !matches!(node.text(b"auto_pad"), b"" | b"NOTSET") {
        return None;
    }
    let kernel = match node.list(b"kernel_shape") {
        Some(kernel) => kernel,
        None => node.shortage().copied(node.exact_dims(1)?.get(2..)?)?,
    };
    let (strides, dilations, pads) = (node.list(b"strides"), node.list(b"dilations"), node.list(b"pads"));
    let image = node.dims(0);
    let entry = |list: &Option<Vec<i128>>, axis: usize, without: i128| match list {
        Some(list) => list.get(axis).copied(),
        None => Some(without),
    };
    let window = |(axis, kernel): (usize, &i128)| {
        let step = entry(&strides, axis, 1).filter(|step| *step > 0)?;
        let reach = (kernel - 1).checked_mul(entry(&dilations, axis, 1)?)? + 1;
        let pads = entry(&pads, axis, 0)? + entry(&pads, axis + kernel_rank(&pads), 0)?;
        Some(Window { reach, step, pads, size: image.as_ref().map_or(Some(1), |image| image.get(axis + 2).copied())? })
    };
    node.shortage().gather_all(kernel.iter().enumerate().map(window))
}

/// All begins come first, then all ends.
fn kernel_rank(pads: &Option<Vec<i128>>) -> usize {
    pads.as_ref().map_or(0, |pads| pads.len() / 2)
}

/// Of so many channels, or as many as there were.
fn image(node: &Operands, channels: Option<i128>, sizes: &[i128]) -> Option<Vec<i128>> {
    let given = node.dims(0);
    let of_input = |axis: usize| given.as_ref().and_then(|given| given.get(axis)).copied().unwrap_or(1);
    let head = [of_input(0), channels.unwrap_or_else(|| of_input(1))];
    let all = node.shortage().gather(head.into_iter().chain(sizes.iter().copied()));
    node.positive(all)
}
