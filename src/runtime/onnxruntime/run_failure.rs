//! What a failed run means.

use super::failure::Failure;
use super::model::Slots;
use super::ports::Ports;
use crate::base::{Desc, Dims, Error, Slot, Status};

/// The error of a failed run: a shape that was promised for an output and not computed is told apart from all else.
///
/// The engine says so only in words, which differ between versions; words that are not understood leave its own text.
pub fn explain(failure: Failure, slots: &Slots, outputs: &Ports) -> Error {
    if failure.text.contains("terminate flag") {
        return Error::new(Status::Cancelled, failure.to_string());
    }
    let promised = |(place, output): (usize, &usize)| Some((*output, outputs.desc(place)?));
    let promises: Vec<_> = slots.names.requested().iter().enumerate().filter_map(promised).collect();
    let name = |output: usize| slots.names.output(output).to_string_lossy();
    if let Some((output, promised, computed)) = broken_promise(&failure.text, &promises, name) {
        return broken(&failure, Slot::output(output), &name(output), promised, computed);
    }
    let refused = ["nvalid dimensions for", "nvalid rank for", "OrtValue shape verification failed"];
    let is_shape = refused.iter().any(|words| failure.text.contains(words));
    failure.or(if is_shape { Status::ShapeMismatch } else { Status::Runtime })
}

fn broken(failure: &Failure, slot: Slot, name: &str, promised: Desc, computed: Option<Dims>) -> Error {
    let computed = match computed {
        Some(dims) => {
            let desc = Desc { dims, ..promised };
            let size = desc.byte_size().map_or(String::new(), |size| format!(" ({size} bytes)"));
            format!("{desc}{size}")
        }
        None => "another shape".to_owned(),
    };
    let text = format!(
        "{slot} '{name}': the memory given for it promises {promised}, and the model computed {computed}. Give memory of that \
         shape, or leave the output without memory and view it. {failure}"
    );
    Error::new(Status::ShapeMismatch, text)
}

/// The output whose promise was broken, the promise, and the shape in its place as far as it can be read.
fn broken_promise<N: AsRef<str>>(
    text: &str,
    promises: &[(usize, Desc)],
    name: impl Fn(usize) -> N,
) -> Option<(usize, Desc, Option<Dims>)> {
    // as 1.32 says it: "... for output 'z' of node ... has shape {3} but the computed output shape for this run is {4}"
    let is_named =
        |(output, _): &&(usize, Desc)| text.contains(&format!("for output '{}' of node", name(*output).as_ref()));
    if let Some((output, promised)) = promises.iter().find(is_named) {
        return Some((*output, *promised, shape_after(text, "computed output shape for this run is ")));
    }
    // as 1.23 says it: "OrtValue shape verification failed. Current shape:{3} Requested shape:{4}", without a name
    let current = shape_after(text, "OrtValue shape verification failed. Current shape:")?;
    let mut candidates = promises.iter().filter(|(_, promised)| promised.dims == current);
    let (output, promised) = candidates.next()?;
    let is_only_one = candidates.next().is_none();
    is_only_one.then(|| (*output, *promised, shape_after(text, "Requested shape:")))
}

/// The shape `{1,2,3}` right after some words.
fn shape_after(text: &str, words: &str) -> Option<Dims> {
    let (_, rest) = text.split_once(words)?;
    let (inside, _) = rest.strip_prefix('{')?.split_once('}')?;
    let numbers = inside.split(',').filter(|part| !part.is_empty()).map(|part| part.trim().parse());
    Dims::new(&numbers.collect::<Result<Vec<i64>, _>>().ok()?).ok()
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

    fn promise(output: usize, shape: &[i64]) -> (usize, Desc) {
        (output, Desc { dtype: Dtype::F32, dims: dims(shape) })
    }

    fn names(output: usize) -> &'static str {
        ["y", "z", "z' of node"][output]
    }

    #[test]
    fn both_ways_of_saying_it() {
        let promises = [promise(0, &[8]), promise(1, &[3, 4])];
        for text in [NEW, OLD] {
            let (output, promised, computed) = broken_promise(text, &promises, names).unwrap();
            assert_eq!((output, promised.dims, computed), (1, dims(&[3, 4]), Some(dims(&[2, 4]))));
        }
    }

    #[test]
    fn no_guessing() {
        let twice = [promise(0, &[3, 4]), promise(1, &[3, 4])];
        assert!(broken_promise(OLD, &twice, names).is_none(), "either could be meant");
        assert!(broken_promise(NEW, &twice, names).is_some_and(|found| found.0 == 1));
        assert!(broken_promise(NEW, &[], names).is_none(), "nothing was promised");
        assert!(broken_promise("something else", &twice, names).is_none());
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
