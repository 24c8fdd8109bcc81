//! The scales and zero points that a model keeps as constants.

use std::collections::HashMap;

use super::graph::Graph;
use super::tensor::Tensor;
use super::uses::Uses;
use crate::base::room::Shortage;

/// The most scales that a slot can have: more than any axis of a real one, few enough to be copied for each slot.
const MOST_SCALES: usize = 1 << 16;

/// The tensors that are used to quantize, by name; nothing for one that cannot be used. Each is decoded once.
pub struct Constants<'a> {
    pub scales: HashMap<&'a [u8], Option<Vec<f32>>>,
    pub zero_points: HashMap<&'a [u8], Option<Vec<i32>>>,
}

impl<'a> Constants<'a> {
    pub fn read(graph: &Graph<'a>, uses: &Uses<'_, 'a>, shortage: &Shortage) -> Option<Constants<'a>> {
        let of_scales = uses.parameters().map(|parameters| parameters.scale);
        let of_zero_points = uses.parameters().map(|parameters| parameters.zero_point);
        let mut scales = Wanted::new(of_scales, shortage)?;
        let mut zero_points = Wanted::new(of_zero_points.filter(|name| !name.is_empty()), shortage)?;
        graph.constants(|name, tensor| {
            scales.meet(name, || vector(tensor()?)?.scales());
            zero_points.meet(name, || vector(tensor()?)?.zero_points());
        })?;
        Some(Constants { scales: scales.found(shortage)?, zero_points: zero_points.found(shortage)? })
    }
}

/// A tensor that is one number or one axis of them. Tensors of weights are not even looked at.
fn vector(tensor: Tensor<'_>) -> Option<Tensor<'_>> {
    let is_small = tensor.elements()? <= MOST_SCALES && tensor.data_bytes() <= MOST_SCALES * 10;
    (tensor.rank() <= 1 && is_small).then_some(tensor)
}

/// Constants that are looked for.
struct Wanted<'a, T>(HashMap<&'a [u8], Search<T>>);

enum Search<T> {
    Open,
    Found(Option<T>),
}

impl<'a, T> Wanted<'a, T> {
    fn new(names: impl Iterator<Item = &'a [u8]>, shortage: &Shortage) -> Option<Wanted<'a, T>> {
        let names = shortage.gather(names)?;
        let mut all = shortage.map(names.len())?;
        all.extend(names.into_iter().map(|name| (name, Search::Open)));
        Some(Wanted(all))
    }

    /// Takes what a constant holds, if it is looked for; two of one name are as good as none.
    fn meet(&mut self, name: &[u8], value: impl FnOnce() -> Option<T>) {
        if let Some(search) = self.0.get_mut(name) {
            *search = match search {
                Search::Open => Search::Found(value()),
                Search::Found(_) => Search::Found(None),
            };
        }
    }

    fn found(self, shortage: &Shortage) -> Option<HashMap<&'a [u8], Option<T>>> {
        let found = |(name, search)| match search {
            Search::Found(value) => (name, value),
            Search::Open => (name, None),
        };
        let mut all = shortage.map(self.0.len())?;
        all.extend(self.0.into_iter().map(found));
        Some(all)
    }
}
