//! What the tests of the timeline are made of: queues without threads, small tensors, operations that do nothing.

use std::sync::Arc;

use super::timeline::{New, Timeline};
use super::work::{Use, Work};
use super::{ContextLine, Executor, Place, Queue};
use crate::base::{Desc, Dims, Dtype, Kind};
use crate::core::count::Counted;
use crate::core::stop::Stop;
use crate::core::tensor::Tensor;
use crate::sync::Condvar;

pub fn open(timeline: &Timeline, executor: Option<Box<dyn Executor>>) -> (Arc<Queue>, Arc<Condvar>) {
    let id = timeline.new_id();
    let queue = Arc::new(Queue { id, capacity: 0, executor, _counted: Counted::new(Kind::Queue) });
    let awake = timeline.open(queue.clone());
    (queue, awake)
}

pub fn tensor() -> Arc<Tensor> {
    let dims = Dims::new(&[1]).unwrap();
    Tensor::alloc(Desc { dtype: Dtype::U8, dims }, 0).unwrap()
}

/// Replaces all of a tensor, as far as the timeline is concerned.
pub fn write(tensor: &Arc<Tensor>) -> New {
    New { uses: vec![Use::write(tensor.clone(), true)], ..New::of(Work::Nothing) }
}

pub fn read(tensor: &Arc<Tensor>) -> New {
    let work = Work::Read { range: tensor.range(), destination: tensor.range() };
    New { uses: vec![Use::read(tensor.clone())], ..New::of(work) }
}

/// A place in the line of a context whose runs cannot be stopped.
pub fn place(line: &Arc<ContextLine>) -> Place {
    Place::new(line.clone(), Arc::new(Stop::new(None)))
}
