//! Every tensor of a model, wherever it is: constants of graphs and of the graphs inside them, attributes, functions.

use crate::base::{Result, fail};
use crate::runtime::format::wire::{Fields, Value};

/// The engine's reader gives up at 100 messages inside each other.
const DEEPEST: usize = 256;

/// A message that was found.
pub enum Found<'a> {
    Tensor(&'a [u8]),
    /// A tensor of which only the elements that are not 0 are stored, in tensors that are found as well.
    Sparse(&'a [u8]),
}

/// The messages on the way to a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Model,
    Training,
    Function,
    Graph,
    Node,
    Attribute,
    Sparse,
    Tensor,
}

/// What the field of this number in this message contains, if that is on the way.
fn inside(message: Message, number: u32) -> Option<Message> {
    match (message, number) {
        (Message::Model, 7) | (Message::Training, 1 | 2) | (Message::Attribute, 6 | 11) => Some(Message::Graph),
        (Message::Model, 20) => Some(Message::Training),
        (Message::Model, 25) => Some(Message::Function),
        (Message::Graph, 1) | (Message::Function, 7) => Some(Message::Node),
        (Message::Node, 5) | (Message::Function, 11) => Some(Message::Attribute),
        (Message::Graph, 15) | (Message::Attribute, 22 | 23) => Some(Message::Sparse),
        (Message::Graph, 5) | (Message::Attribute, 5 | 10) | (Message::Sparse, 1 | 2) => Some(Message::Tensor),
        _ => None,
    }
}

/// Whether a message has one tensor at most in the field of this number. A reader puts several together, part by part, so that
/// what each of them says is not what the whole says. The parts of a graph are lists, which are read one after the other.
fn is_single(message: Message, number: u32) -> bool {
    matches!((message, number), (Message::Sparse, 1 | 2) | (Message::Attribute, 5 | 22))
}

/// A message that is being read.
struct Open<'a> {
    message: Message,
    fields: Fields<'a>,
    /// A bit for each number of a field that it can have once, and has had.
    had: u32,
}

impl<'a> Open<'a> {
    fn new(message: Message, bytes: &'a [u8]) -> Open<'a> {
        Open { message, fields: Fields::new(bytes), had: 0 }
    }

    /// No program writes such a message twice.
    fn once(&mut self, number: u32) -> Result<()> {
        if !is_single(self.message, number) {
            return Ok(());
        }
        let bit = 1u32 << number;
        if self.had & bit != 0 {
            return fail!(
                ModelInvalid,
                "the model has a message in two parts (field {number} of {:?}), which no exporter writes: what is in it \
                 cannot be checked",
                self.message
            );
        }
        self.had |= bit;
        Ok(())
    }
}

/// Calls `check` with every tensor that the model contains. Skips over their elements.
pub fn visit<'a>(model: &'a [u8], check: &mut dyn FnMut(Found<'a>) -> Result<()>) -> Result<()> {
    let mut open = vec![Open::new(Message::Model, model)];
    while let Some(top) = open.last_mut() {
        let Open { message, fields, .. } = top;
        let Some(field) = fields.next() else {
            open.pop();
            continue;
        };
        let Value::Bytes(bytes) = field.value else { continue };
        let message = *message;
        top.once(field.number)?;
        match inside(message, field.number) {
            Some(Message::Tensor) => check(Found::Tensor(bytes))?,
            Some(message) if open.len() < DEEPEST => {
                if message == Message::Sparse {
                    check(Found::Sparse(bytes))?;
                }
                open.push(Open::new(message, bytes));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;
    use crate::runtime::onnxruntime::writer as w;
    use proptest::prelude::*;

    fn found(model: &[u8]) -> std::result::Result<usize, Status> {
        let mut count = 0;
        let result = visit(model, &mut |_| {
            count += 1;
            Ok(())
        });
        result.map(|()| count).map_err(|error| error.status)
    }

    /// Each part says nothing that is suspect; together they are weights in another file.
    #[test]
    fn a_message_in_parts_is_refused() {
        let tensor = |parts: &[&[u8]]| -> Vec<u8> { parts.iter().flat_map(|part| w::bytes(5, *part)).collect() };
        let graph = |attribute: &[u8]| w::bytes(7, w::bytes(1, w::bytes(5, attribute)));
        let (one, other) = (w::number(14, 1), w::bytes(13, w::bytes(1, "location")));
        assert_eq!(found(&graph(&tensor(&[&[&one[..], &other].concat()]))), Ok(1));
        assert_eq!(found(&graph(&tensor(&[&one, &other]))), Err(Status::ModelInvalid));
        // a sparse one, and its parts
        let sparse = |part: &[u8]| w::bytes(22, part);
        assert_eq!(found(&graph(&sparse(&w::bytes(1, &one)))), Ok(2));
        assert_eq!(found(&graph(&[sparse(&[]), sparse(&[])].concat())), Err(Status::ModelInvalid));
        assert_eq!(
            found(&graph(&sparse(&[w::bytes(1, &one), w::bytes(1, &other)].concat()))),
            Err(Status::ModelInvalid)
        );
        // what is a list is one in parts too
        let inner = w::bytes(6, w::bytes(5, &one));
        assert_eq!(found(&graph(&[inner.clone(), inner].concat())), Ok(2));
        let whole = graph(&w::bytes(5, &one));
        assert_eq!(found(&[whole.clone(), whole].concat()), Ok(2));
        let two = [w::bytes(10, &one), w::bytes(10, &other)].concat();
        assert_eq!(found(&graph(&two)), Ok(2));
        assert_eq!(found(&w::bytes(7, [w::bytes(5, &one), w::bytes(5, &other)].concat())), Ok(2));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_the_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = visit(&bytes, &mut |_| Ok(()));
            let inside = [&[7 << 3 | 2, bytes.len().min(120) as u8], &bytes[..bytes.len().min(120)]].concat();
            let _ = visit(&inside, &mut |_| Ok(()));
        }
    }
}
