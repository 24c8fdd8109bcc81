//! Every tensor of a model, wherever it is: constants of graphs and of the graphs inside them, attributes, functions.

use crate::base::Result;
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
#[derive(Clone, Copy, PartialEq, Eq)]
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

/// Calls `check` with every tensor that the model contains. Skips over their elements.
pub fn visit<'a>(model: &'a [u8], check: &mut dyn FnMut(Found<'a>) -> Result<()>) -> Result<()> {
    let mut open = vec![(Message::Model, Fields::new(model))];
    while let Some((message, fields)) = open.last_mut() {
        let Some(field) = fields.next() else {
            open.pop();
            continue;
        };
        let Value::Bytes(bytes) = field.value else { continue };
        match inside(*message, field.number) {
            Some(Message::Tensor) => check(Found::Tensor(bytes))?,
            Some(message) if open.len() < DEEPEST => {
                if message == Message::Sparse {
                    check(Found::Sparse(bytes))?;
                }
                open.push((message, Fields::new(bytes)));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_to_the_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = visit(&bytes, &mut |_| Ok(()));
            let inside = [&[7 << 3 | 2, bytes.len().min(120) as u8], &bytes[..bytes.len().min(120)]].concat();
            let _ = visit(&inside, &mut |_| Ok(()));
        }
    }
}
