//! Operators that make a tensor of any size out of a few numbers, and where these numbers are.

use std::cell::Cell;

use super::super::graph::{Node, last_bytes};
use super::super::limits::kind_of;
use super::known::{Fact, Known, Place, Shape};
use super::windows;
use crate::base::room::Shortage;

/// An operator of the standard set. What its rule does not know, the engine is left to find out.
pub struct Maker {
    name: &'static [u8],
    /// The dimensions of the output, at the least.
    rule: fn(&Operands) -> Option<Vec<i128>>,
    kind: Kind,
}

/// Where the type of the elements is.
enum Kind {
    Input(usize),
    /// In this attribute, floats without it.
    Attribute(&'static [u8]),
    /// In the attribute `dtype`, as in the input without it.
    Like,
    /// In the tensor that is the attribute `value`, floats without it.
    Value,
    Fixed(u64),
}

const F32: u64 = 1;
const I32: u64 = 6;

const fn maker(name: &'static [u8], rule: fn(&Operands) -> Option<Vec<i128>>, kind: Kind) -> Maker {
    Maker { name, rule, kind }
}

static MAKERS: &[Maker] = &[
    maker(b"ConstantOfShape", |node| node.longs(0), Kind::Value),
    maker(b"RandomNormal", |node| node.list(b"shape"), Kind::Attribute(b"dtype")),
    maker(b"RandomUniform", |node| node.list(b"shape"), Kind::Attribute(b"dtype")),
    maker(b"EyeLike", |node| node.dims(0), Kind::Like),
    maker(b"RandomNormalLike", |node| node.dims(0), Kind::Like),
    maker(b"RandomUniformLike", |node| node.dims(0), Kind::Like),
    maker(b"Expand", expanded, Kind::Input(0)),
    maker(b"Tile", |node| node.resized(&node.longs(1)?, None, |dim, times| dim.checked_mul(times)), Kind::Input(0)),
    maker(b"Pad", padded, Kind::Input(0)),
    maker(
        b"CenterCropPad",
        |node| node.resized(&node.longs(1)?, node.list(b"axes"), |_, size| Some(size)),
        Kind::Input(0),
    ),
    maker(b"Resize", scaled, Kind::Input(0)),
    maker(b"Upsample", scaled, Kind::Input(0)),
    maker(b"Conv", windows::slid, Kind::Input(0)),
    maker(b"AveragePool", windows::slid, Kind::Input(0)),
    maker(b"LpPool", windows::slid, Kind::Input(0)),
    maker(b"MaxPool", windows::slid, Kind::Input(0)),
    maker(b"ConvTranspose", windows::spread, Kind::Input(0)),
    maker(b"MaxUnpool", |node| node.longs(2), Kind::Input(0)),
    maker(b"AffineGrid", grid, Kind::Input(0)),
    maker(b"OneHot", one_hot, Kind::Input(2)),
    maker(b"Range", range, Kind::Input(0)),
    maker(b"HannWindow", |node| node.longs(0), Kind::Attribute(b"output_datatype")),
    maker(b"HammingWindow", |node| node.longs(0), Kind::Attribute(b"output_datatype")),
    maker(b"BlackmanWindow", |node| node.longs(0), Kind::Attribute(b"output_datatype")),
    maker(b"MelWeightMatrix", mel_weights, Kind::Attribute(b"output_datatype")),
    maker(b"Multinomial", |node| node.and_more(&[node.int(b"sample_size")?]), Kind::Fixed(I32)),
    maker(
        b"RoiAlign",
        |node| node.and_more(&[node.int(b"output_height")?, node.int(b"output_width")?]),
        Kind::Input(0),
    ),
    maker(b"MaxRoiPool", |node| node.and_more(&node.list(b"pooled_shape")?), Kind::Input(0)),
    maker(b"TfIdfVectorizer", counted, Kind::Fixed(F32)),
];

impl Maker {
    /// What is known of the operator of a node, which is not read any further.
    pub fn of(node: &[u8]) -> Option<&'static Maker> {
        let name = last_bytes(node, 4)?;
        let maker = MAKERS.iter().find(|maker| maker.name == name)?;
        matches!(last_bytes(node, 7)?, b"" | b"ai.onnx").then_some(maker)
    }

    /// The shape of the output, as far as the file tells.
    pub fn output(&self, node: &Operands) -> Option<Shape> {
        if node.node.is_open() {
            return None;
        }
        let dims = (self.rule)(node)?;
        Some(Shape { dims, is_exact: !node.is_guess.get(), kind: self.kind(node) })
    }

    fn kind(&self, node: &Operands) -> Option<u64> {
        let of_input = |input| node.fact(input)?.shape.kind;
        match self.kind {
            Kind::Input(input) => of_input(input),
            Kind::Attribute(name) => node.int(name).map_or(Some(F32), |kind| u64::try_from(kind).ok()),
            Kind::Like => node.int(b"dtype").map_or_else(|| of_input(0), |kind| u64::try_from(kind).ok()),
            Kind::Value => node.node.attribute(b"value").map_or(Some(F32), |value| kind_of(value.tensor?)),
            Kind::Fixed(kind) => Some(kind),
        }
    }
}

/// What is at hand for a node: of its inputs only what the file tells.
pub struct Operands<'o, 'a> {
    node: &'o Node<'a>,
    known: &'o Known<'a>,
    graph: usize,
    shortage: &'o Shortage,
    /// Whether something was taken for 1 that is not known.
    is_guess: Cell<bool>,
}

impl<'o, 'a> Operands<'o, 'a> {
    pub fn new(node: &'o Node<'a>, known: &'o Known<'a>, graph: usize, shortage: &'o Shortage) -> Operands<'o, 'a> {
        Operands { node, known, graph, shortage, is_guess: Cell::new(false) }
    }

    pub fn shortage(&self) -> &'o Shortage {
        self.shortage
    }

    pub fn has(&self, input: usize) -> bool {
        self.node.inputs.get(input).is_some_and(|name| !name.is_empty())
    }

    fn fact(&self, input: usize) -> Option<&'o Fact<'a>> {
        self.known.find(Place { graph: self.graph, name: self.node.inputs.get(input)? })
    }

    /// The dimensions of an input.
    pub fn dims(&self, input: usize) -> Option<Vec<i128>> {
        let shape = self.fact(input).map(|fact| &fact.shape);
        self.is_guess.set(self.is_guess.get() || !shape.is_some_and(|shape| shape.is_exact));
        self.shortage.copied(&shape?.dims)
    }

    /// These where all of them are known: for what grows where another shrinks.
    pub fn exact_dims(&self, input: usize) -> Option<Vec<i128>> {
        if self.fact(input)?.shape.is_exact { self.dims(input) } else { None }
    }

    /// The whole numbers in a constant.
    fn longs(&self, input: usize) -> Option<Vec<i128>> {
        let longs = self.fact(input)?.elements.as_ref()?.longs()?;
        self.shortage.gather(longs.into_iter().map(i128::from))
    }

    fn floats(&self, input: usize) -> Option<Vec<f32>> {
        self.fact(input)?.elements.as_ref()?.scales()
    }

    /// An attribute that is a list of whole numbers.
    pub fn list(&self, name: &[u8]) -> Option<Vec<i128>> {
        self.shortage.gather(self.node.attribute(name)?.ints.into_iter().map(i128::from))
    }

    /// One that is a number.
    pub fn int(&self, name: &[u8]) -> Option<i128> {
        self.node.int(name).ok()?.map(i128::from)
    }

    /// One that is a text; empty without it.
    pub fn text(&self, name: &[u8]) -> &'a [u8] {
        self.node.attribute(name).map_or(b"", |attribute| attribute.text)
    }

    /// These dimensions, and others that are left out.
    fn and_more(&self, dims: &[i128]) -> Option<Vec<i128>> {
        self.is_guess.set(true);
        self.positive(self.shortage.copied(dims))
    }

    /// The first input with some dimensions changed, each by one of the `values`.
    fn resized<T: Copy>(
        &self,
        values: &[T],
        axes: Option<Vec<i128>>,
        change: impl Fn(i128, T) -> Option<i128>,
    ) -> Option<Vec<i128>> {
        let Some(mut dims) = self.dims(0) else {
            return self.positive(self.shortage.gather_all(values.iter().map(|value| change(1, *value))));
        };
        if axes.as_ref().map_or(dims.len(), Vec::len) != values.len() {
            return None;
        }
        for (number, value) in values.iter().enumerate() {
            let axis = axes.as_ref().map_or(number as i128, |axes| axes[number]);
            let axis = if axis < 0 { axis + dims.len() as i128 } else { axis };
            let dim = dims.get_mut(usize::try_from(axis).ok()?)?;
            *dim = change(*dim, *value)?;
        }
        self.positive(Some(dims))
    }

    /// Nothing where a dimension is below 0: that is the engine's to refuse, or of no account where one was guessed.
    pub fn positive(&self, dims: Option<Vec<i128>>) -> Option<Vec<i128>> {
        dims.filter(|dims| dims.iter().all(|dim| *dim >= 0))
    }
}

/// As much as both ask for, where one has 1.
fn expanded(node: &Operands) -> Option<Vec<i128>> {
    let mut wanted = node.longs(1)?;
    let mut dims = node.dims(0).unwrap_or_default();
    if dims.len() > wanted.len() {
        std::mem::swap(&mut dims, &mut wanted);
    }
    for (more, dim) in wanted.iter_mut().rev().zip(dims.iter().rev()) {
        *more = if *more == 1 { *dim } else { *more };
    }
    node.positive(Some(wanted))
}

/// All begins, then all ends; in an attribute in old models.
fn padded(node: &Operands) -> Option<Vec<i128>> {
    let pads = if node.has(1) { node.longs(1)? } else { node.list(b"pads")? };
    let axes = if node.has(3) { Some(node.longs(3)?) } else { None };
    let (begins, ends) = pads.split_at_checked(pads.len() / 2)?;
    let both = node.shortage.gather(begins.iter().zip(ends).map(|(begin, end)| begin + end))?;
    node.resized(&both, axes, |dim, more| Some(dim + more))
}

/// By sizes, or by factors, which are an input or an attribute.
fn scaled(node: &Operands) -> Option<Vec<i128>> {
    let axes = node.list(b"axes");
    if node.has(3) {
        let is_bound = !matches!(node.text(b"keep_aspect_ratio_policy"), b"" | b"stretch");
        return if is_bound { None } else { node.resized(&node.longs(3)?, axes, |_, size| Some(size)) };
    }
    let factors = match node.node.inputs.len() {
        1 => node.node.attribute(b"scales")?.floats(node.shortage)?,
        2 => node.floats(1)?,
        _ => node.floats(2)?,
    };
    // in the engine's precision; of 1, which may stand for what is not known, nothing may be left
    node.resized(&factors, axes, |dim, factor| Some((dim as f32 * factor).floor() as i128))
}

/// Coordinates for each point: N, C, then the points.
fn grid(node: &Operands) -> Option<Vec<i128>> {
    let mut dims = node.longs(1)?;
    let points = dims.len().checked_sub(2)?;
    dims.remove(1);
    node.shortage.push(&mut dims, points as i128)?;
    node.positive(Some(dims))
}

fn one_hot(node: &Operands) -> Option<Vec<i128>> {
    let depth = match node.longs(1) {
        Some(depth) => *depth.first()?,
        None => *node.floats(1)?.first()? as i128,
    };
    let mut dims = node.dims(0).unwrap_or_default();
    node.shortage.push(&mut dims, depth)?;
    node.positive(Some(dims))
}

fn range(node: &Operands) -> Option<Vec<i128>> {
    let count = match [node.longs(0), node.longs(1), node.longs(2)] {
        [Some(start), Some(limit), Some(step)] => {
            let (distance, step) = (limit.first()? - start.first()?, *step.first()?);
            if step == 0 {
                return None;
            }
            distance / step + i128::from(distance % step != 0 && (distance < 0) == (step < 0))
        }
        _ => {
            let number = |input: usize| node.floats(input)?.first().copied().map(f64::from);
            let count = ((number(1)? - number(0)?) / number(2)?).ceil();
            if count.is_nan() { 0 } else { count as i128 }
        }
    };
    node.shortage.copied(&[count.max(0)])
}

/// As many bands, for half of the spectrum.
fn mel_weights(node: &Operands) -> Option<Vec<i128>> {
    let (bands, length) = (node.longs(0)?, node.longs(1)?);
    node.positive(node.shortage.copied(&[length.first()? / 2 + 1, *bands.first()?]))
}

/// A place for each number that an n-gram counts at.
fn counted(node: &Operands) -> Option<Vec<i128>> {
    let last = node.list(b"ngram_indexes")?.into_iter().max()?;
    node.and_more(&[last.checked_add(1)?])
}
