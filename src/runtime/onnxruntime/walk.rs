//! Every tensor and node of a model, wherever it is: in graphs and the graphs inside them, attributes, functions.

use crate::base::room::push;
use crate::base::{Result, fail};
use crate::runtime::format::wire::{Fields, Value};

/// The engine's reader gives up at 100 messages inside each other.
const DEEPEST: usize = 256;

/// A message that was found.
pub struct Found<'a> {
    pub part: Part,
    pub message: &'a [u8],
    /// The graph that it is in, by its place in what `visit` returns.
    pub graph: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A tensor inside something else.
    Tensor,
    /// A tensor of a graph, which nodes refer to by its name.
    Constant,
    /// A tensor of which only the elements that are not 0 are stored, in tensors that are found as well.
    Sparse,
    Node,
    /// What is told of an input of a graph: name, type, shape. The engine takes what a model says of other tensors for a hint
    /// that may be wrong, and so do we.
    Input,
}

/// The graph of the model itself, by its place in what `visit` returns.
pub const MAIN: usize = 0;

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
    Input,
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
        (Message::Graph, 11) => Some(Message::Input),
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
    graph: usize,
    /// A bit for each number of a field that it can have once, and has had.
    had: u32,
}

impl<'a> Open<'a> {
    fn new(message: Message, bytes: &'a [u8], graph: usize) -> Open<'a> {
        Open { message, fields: Fields::new(bytes), graph, had: 0 }
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

/// How a message shows up for those who look; nothing for one that is only on the way.
fn part(message: Message, around: Message) -> Option<Part> {
    match (message, around) {
        (Message::Tensor, Message::Graph) => Some(Part::Constant),
        (Message::Tensor, _) => Some(Part::Tensor),
        (Message::Sparse, _) => Some(Part::Sparse),
        (Message::Node, _) => Some(Part::Node),
        (Message::Input, _) => Some(Part::Input),
        _ => None,
    }
}

/// Calls `check` with every part that the model contains. Skips over the elements of tensors.
///
/// Returns the graphs: for each the one around it, whose names it sees too. The first, which may come in parts, and functions
/// have none around them but themselves.
pub fn visit<'a>(model: &'a [u8], check: &mut dyn FnMut(Found<'a>) -> Result<()>) -> Result<Vec<usize>> {
    let mut graphs = vec![MAIN];
    let mut open = vec![Open::new(Message::Model, model, MAIN)];
    while let Some(top) = open.last_mut() {
        let Some(field) = top.fields.next() else {
            open.pop();
            continue;
        };
        let Value::Bytes(bytes) = field.value else { continue };
        top.once(field.number)?;
        let Open { message: around, mut graph, .. } = *top;
        let Some(message) = inside(around, field.number) else { continue };
        if let Some(part) = part(message, around) {
            check(Found { part, message: bytes, graph })?;
        }
        if matches!(message, Message::Tensor | Message::Input) || open.len() >= DEEPEST {
            continue;
        }
        let is_new = message == Message::Function || (message == Message::Graph && around != Message::Model);
        if is_new {
            let (this, outer) = (graphs.len(), graph);
            push(&mut graphs, if message == Message::Function { this } else { outer })?;
            graph = this;
        }
        open.push(Open::new(message, bytes, graph));
    }
    Ok(graphs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;
    use crate::runtime::onnxruntime::writer as w;
    use proptest::prelude::*;

    fn found(model: &[u8]) -> std::result::Result<usize, Status> {
        let mut count = 0;
        let result = visit(model, &mut |found| {
            count += usize::from(matches!(found.part, Part::Tensor | Part::Constant | Part::Sparse));
            Ok(())
        });
        result.map(|_| count).map_err(|error| error.status)
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

    #[test]
    fn a_graph_sees_the_names_of_the_graph_around_it() {
        let leaf = w::Graph { nodes: vec![w::node("A", "", "a", &[])], ..Default::default() };
        let branch = w::node("If", "", "b", &[w::graph_attribute("g", &leaf.bytes())]);
        let outer = w::Graph { nodes: vec![branch.clone()], ..Default::default() };
        let twice = w::node("If", "", "c", &[w::graph_attribute("g", &outer.bytes())]);
        let main = w::Graph { nodes: vec![twice], ..Default::default() };
        let (function, rest) =
            (w::bytes(25, w::bytes(7, &branch)), w::bytes(7, w::bytes(1, w::node("B", "", "", &[]))));
        let mut of_nodes = Vec::new();
        let graphs = visit(&main.model_with(&[function, rest].concat()), &mut |found| {
            of_nodes.extend((found.part == Part::Node).then_some(found.graph));
            Ok(())
        });
        assert_eq!(graphs.unwrap(), [0, 0, 1, 3, 3]);
        assert_eq!(of_nodes, [0, 1, 2, 3, 4, 0]);
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
