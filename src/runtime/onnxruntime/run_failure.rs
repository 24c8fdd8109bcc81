//! What a failed run means.

use std::fmt::Display;

use super::failure::Failure;
use super::model::Slots;
use super::ports::Ports;
use crate::base::room::{Lossy, copied, joined};
use crate::base::{Desc, Dims, Error, Gather, MAX_RANK, Slot, Status, text};

/// The error of a failed run: a shape that was promised for an output and not computed is told apart from all else, and
/// memory that is too small for what was computed from memory of another shape.
///
/// The engine says so only in words, which differ between versions; words that are not understood leave its own text.
pub fn explain(failure: Failure, slots: &Slots, outputs: &Ports) -> Error {
    if failure.text().contains("terminate flag") {
        return Error::new(Status::Cancelled, text!("{failure}"));
    }
    let promise = |(place, output): (usize, &usize)| {
        // attached is what was promised, and with it comes the rest of the room
        let (desc, memory) = outputs.promised(place)?;
        Some(Promise { output: *output, desc, given: memory.capacity() as u64 })
    };
    let promises = slots.names.requested().iter().enumerate().filter_map(promise).gather().unwrap_or_default();
    let name = |output: usize| Lossy(slots.names.output(output).to_bytes());
    if let Some(broken) = Broken::read(failure.text(), &promises, name) {
        return broken.error(&failure, name);
    }
    let refused = ["nvalid dimensions for", "nvalid rank for", "OrtValue shape verification failed"];
    let is_shape = refused.iter().any(|words| failure.text().contains(words));
    failure.or(if is_shape { Status::ShapeMismatch } else { Status::Runtime })
}

/// What was promised for an output.
struct Promise {
    output: usize,
    desc: Desc,
    /// Bytes of the memory that is attached.
    given: u64,
}

impl Promise {
    fn is_too_small_for(&self, dims: Dims) -> bool {
        Desc { dims, ..self.desc }.byte_size().is_ok_and(|size| size > self.given)
    }
}

/// A promise that was broken.
struct Broken<'a> {
    /// The one, or all that it can be when the engine does not name it.
    candidates: Vec<&'a Promise>,
    /// The shape in its place, as far as it can be read.
    computed: Option<Dims>,
}

impl<'a> Broken<'a> {
    fn read<N: Display>(text: &str, promises: &'a [Promise], name: impl Fn(usize) -> N) -> Option<Broken<'a>> {
        // as 1.32 says it: "... for output 'z' of node ... has shape {3} but the computed output shape for this run is {4}"
        let is_named = |promise: &&Promise| {
            let words = text!("for output '{}' of node", name(promise.output));
            text.contains(&words)
        };
        if let Some(promise) = promises.iter().find(is_named) {
            let computed = shape_after(text, "computed output shape for this run is ");
            return Some(Broken { candidates: copied(&[promise]).ok()?, computed });
        }
        // as 1.23 says it: "OrtValue shape verification failed. Current shape:{3} Requested shape:{4}", without a name
        let current = shape_after(text, "OrtValue shape verification failed. Current shape:")?;
        let candidates = promises.iter().filter(|promise| promise.desc.dims == current).gather().ok()?;
        (!candidates.is_empty()).then(|| Broken { candidates, computed: shape_after(text, "Requested shape:") })
    }

    /// Too small only where every candidate is.
    fn status(&self) -> Status {
        let is_too_small = |dims| self.candidates.iter().all(|promise| promise.is_too_small_for(dims));
        if self.computed.is_some_and(is_too_small) { Status::BufferTooSmall } else { Status::ShapeMismatch }
    }

    fn error<N: Display>(&self, failure: &Failure, name: impl Fn(usize) -> N) -> Error {
        let status = self.status();
        let remedy = match status {
            Status::BufferTooSmall => "as much memory with that shape",
            _ => "memory of that shape",
        };
        let stories = joined(self.candidates.iter().map(|promise| self.story(promise, &name)), "; or ");
        let text = text!("{stories}. Give {remedy}, or leave the output without memory and view it. {failure}");
        Error::new(status, text)
    }

    fn story<N: Display>(&self, promise: &Promise, name: impl Fn(usize) -> N) -> String {
        let Promise { output, desc, given } = promise;
        let computed = match self.computed {
            Some(dims) => {
                let computed = Desc { dims, ..*desc };
                let size = computed.byte_size().map_or(String::new(), |size| text!(", which takes {size} bytes"));
                text!("{computed}{size}")
            }
            None => text!("another shape"),
        };
        let (slot, name) = (Slot::output(*output), name(*output));
        text!("{slot} '{name}': the {given} bytes given for it promise {desc}, and the model computed {computed}")
    }
}

/// The shape `{1,2,3}` right after some words.
fn shape_after(text: &str, words: &str) -> Option<Dims> {
    let (_, rest) = text.split_once(words)?;
    let (inside, _) = rest.strip_prefix('{')?.split_once('}')?;
    let numbers = inside.split(',').filter(|part| !part.is_empty()).map(|part| part.trim().parse());
    let mut dims = [0; MAX_RANK];
    let mut rank = 0;
    for number in numbers {
        *dims.get_mut(rank)? = number.ok()?;
        rank += 1;
    }
    Dims::new(&dims[..rank]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Dtype;
    use proptest::prelude::*;

    const NEW: &str = "Status Message: op_kernel.cc:87 The output OrtValue provided for output 'z' of node '' (Add) has shape \
                       {3,4} but the computed output shape for this run is {2,4}. When calling Run() with";
    const OLD: &str = "execution_frame.cc:160 shape && tensor.Shape() == *shape was false. OrtValue shape verification \
                       failed. Current shape:{3,4} Requested shape:{2,4}\n";

    fn dims(dims: &[i64]) -> Dims {
        Dims::new(dims).unwrap()
    }

    fn promise(output: usize, shape: &[i64], given: u64) -> Promise {
        Promise { output, desc: Desc { dtype: Dtype::F32, dims: dims(shape) }, given }
    }

    fn name(output: usize) -> &'static str {
        ["y", "z", "z' of node"][output]
    }

    fn explained(text: &str, promises: &[Promise]) -> Option<(Status, String)> {
        let error = Broken::read(text, promises, name)?.error(&Failure::ours(text), name);
        Some((error.status, error.into_text()))
    }

    #[test]
    fn both_ways_of_saying_it() {
        let promises = [promise(0, &[8], 32), promise(1, &[3, 4], 48)];
        for text in [NEW, OLD] {
            let broken = Broken::read(text, &promises, name).unwrap();
            assert_eq!((broken.candidates.len(), broken.candidates[0].output), (1, 1));
            assert_eq!(broken.computed, Some(dims(&[2, 4])));
            let (status, told) = explained(text, &promises).unwrap();
            assert_eq!(status, Status::ShapeMismatch);
            assert!(told.starts_with("output 1 'z': the 48 bytes given for it promise f32[3,4], and"), "{told}");
            assert!(told.contains("the model computed f32[2,4], which takes 32 bytes"), "{told}");
        }
    }

    #[test]
    fn memory_that_is_too_small() {
        for text in [NEW, OLD] {
            let larger = text.replace("{2,4}", "{5,4}");
            let (status, told) = explained(&larger, &[promise(0, &[8], 32), promise(1, &[3, 4], 48)]).unwrap();
            assert_eq!(status, Status::BufferTooSmall);
            for words in ["output 1 'z'", "48 bytes given", "f32[3,4]", "f32[5,4], which takes 80 bytes"] {
                assert!(told.contains(words), "{told}");
            }
            let (status, _) = explained(&larger, &[promise(1, &[3, 4], 80)]).unwrap();
            assert_eq!(status, Status::ShapeMismatch, "there is room, and the promise was another");
            let unknown = text.replace("{2,4}", "{5,x}");
            let (status, told) = explained(&unknown, &[promise(1, &[3, 4], 48)]).unwrap();
            assert_eq!(status, Status::ShapeMismatch);
            assert!(told.contains("computed another shape"), "{told}");
        }
    }

    #[test]
    fn no_guessing() {
        let twice = [promise(0, &[3, 4], 48), promise(1, &[3, 4], 80)];
        let (status, told) = explained(OLD, &twice).unwrap();
        assert_eq!(status, Status::ShapeMismatch);
        assert!(told.contains("output 0 'y'") && told.contains("; or output 1 'z'"), "{told}");
        let larger = |size: &str| explained(&OLD.replace("{2,4}", size), &twice).unwrap().0;
        assert_eq!(larger("{5,4}"), Status::ShapeMismatch, "either could be meant, and one has room");
        assert_eq!(larger("{9,4}"), Status::BufferTooSmall, "neither has room");
        let (_, told) = explained(NEW, &twice).unwrap();
        assert!(told.starts_with("output 1 'z'") && !told.contains("; or"), "{told}");
        assert!(explained(NEW, &[]).is_none(), "nothing was promised");
        assert!(explained("something else", &twice).is_none());
        assert_eq!(shape_after("is {2,x}", "is "), None);
        assert_eq!(shape_after("is {}", "is "), Some(Dims::SCALAR));
        assert_eq!(shape_after("is {2", "is "), None);
    }

    proptest! {
        #[test]
        fn any_words_are_read(text in ".{0,40}", shape in "[{},0-9-]{0,30}") {
            let _ = shape_after(&format!("{text}is {shape}"), "is ");
        }
    }
}
