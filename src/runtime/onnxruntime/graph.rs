//! The graph of a model, as far as it tells how tensors are used.

use super::tensor::{Tensor, push_varints};
use crate::base::room::Shortage;
use crate::runtime::format::wire::{Fields, Value};

/// The engine's reader gives up at 100 messages inside each other.
const DEEPEST: usize = 256;

/// The parts of a model that are its main graph: one, in every model that the engine accepts.
pub struct Graph<'a> {
    parts: Vec<&'a [u8]>,
    shortage: &'a Shortage,
}

impl<'a> Graph<'a> {
    /// The graph of a model; `None` for a damaged one.
    ///
    /// `redefined` is called with the domain and name of every operator that the model defines itself.
    pub fn of(model: &'a [u8], shortage: &'a Shortage, mut redefined: impl FnMut(&[u8], &[u8])) -> Option<Graph<'a>> {
        let mut parts = Vec::new();
        Fields::new(model).each(|number, value| {
            match (number, value) {
                (7, Value::Bytes(graph)) => shortage.push(&mut parts, graph)?,
                (25, Value::Bytes(function)) => redefined(last_bytes(function, 10)?, last_bytes(function, 1)?),
                _ => {}
            }
            Some(())
        })?;
        Some(Graph { parts, shortage })
    }

    /// Calls `read` with every node of the graph itself. `None` for damage, and when `read` gives none.
    pub fn nodes(&self, mut read: impl FnMut(Node<'a>) -> Option<()>) -> Option<()> {
        self.each(1, |node| read(Node::read(node, self.shortage)?))
    }

    /// Calls `read` with the name of every constant tensor, and with a way to get at it.
    pub fn constants(&self, mut read: impl FnMut(&'a [u8], &dyn Fn() -> Option<Tensor<'a>>)) -> Option<()> {
        self.each(5, |tensor| {
            read(last_bytes(tensor, 8)?, &|| Tensor::read(tensor, self.shortage));
            Some(())
        })?;
        self.nodes(|node| {
            if let (b"Constant", [output]) = (node.operator, &node.outputs[..]) {
                read(output, &|| node.constant());
            }
            Some(())
        })
    }

    fn each(&self, wanted: u32, mut read: impl FnMut(&'a [u8]) -> Option<()>) -> Option<()> {
        self.parts.iter().try_for_each(|part| {
            Fields::new(part).each(|number, value| match value {
                Value::Bytes(bytes) if number == wanted => read(bytes),
                _ => Some(()),
            })
        })
    }
}

/// A node: one operation.
pub struct Node<'a> {
    pub name: &'a [u8],
    pub operator: &'a [u8],
    pub domain: &'a [u8],
    /// Names; empty for one that is left out.
    pub inputs: Vec<&'a [u8]>,
    pub outputs: Vec<&'a [u8]>,
    attributes: Vec<&'a [u8]>,
    shortage: &'a Shortage,
}

impl<'a> Node<'a> {
    pub fn read(message: &'a [u8], shortage: &'a Shortage) -> Option<Node<'a>> {
        let (inputs, outputs, attributes) = Default::default();
        let mut node = Node { name: b"", operator: b"", domain: b"", inputs, outputs, attributes, shortage };
        Fields::new(message).each(|number, value| {
            match (number, value) {
                (1, Value::Bytes(name)) => shortage.push(&mut node.inputs, name)?,
                (2, Value::Bytes(name)) => shortage.push(&mut node.outputs, name)?,
                (3, Value::Bytes(name)) => node.name = name,
                (4, Value::Bytes(operator)) => node.operator = operator,
                (5, Value::Bytes(attribute)) => shortage.push(&mut node.attributes, attribute)?,
                (7, Value::Bytes(domain)) => node.domain = domain,
                _ => {}
            }
            Some(())
        })?;
        if node.domain == b"ai.onnx" {
            node.domain = b"";
        }
        Some(node)
    }

    /// An attribute that is a whole number: `Ok(None)` where it is not given, `Err` where it cannot be understood.
    pub fn int(&self, name: &[u8]) -> Result<Option<i64>, ()> {
        let mut found = None;
        for attribute in &self.attributes {
            let attribute = Attribute::read(attribute, self.shortage).ok_or(())?;
            if attribute.name == name {
                found = Some(attribute.int().ok_or(())?);
            }
        }
        Ok(found)
    }

    /// An attribute by its name, unless it comes from a function's caller.
    pub fn attribute(&self, name: &[u8]) -> Option<Attribute<'a>> {
        let mut all = self.attributes.iter().filter_map(|attribute| Attribute::read(attribute, self.shortage));
        all.find(|attribute| attribute.name == name && !attribute.is_reference)
    }

    /// Whether something of it is what a function's caller says.
    pub fn is_open(&self) -> bool {
        self.attributes.iter().any(|attribute| Fields::new(attribute).any(|field| field.number == 21))
    }

    /// What the output of a `Constant` holds, where it is a tensor or numbers.
    pub fn constant(&self) -> Option<Tensor<'a>> {
        let [attribute] = &self.attributes[..] else { return None };
        let attribute = Attribute::read(attribute, self.shortage).filter(|attribute| !attribute.is_reference)?;
        match attribute.name {
            b"value" => Tensor::read(attribute.tensor?, self.shortage),
            b"value_int" => {
                let int = self.shortage.copied(&[Value::Varint(attribute.int? as u64)])?;
                Some(Tensor::of_ints(Vec::new(), int, self.shortage))
            }
            b"value_ints" => {
                let ints = self.shortage.gather(attribute.ints.iter().map(|int| Value::Varint(*int as u64)))?;
                Some(Tensor::of_ints(self.shortage.copied(&[ints.len() as u64])?, ints, self.shortage))
            }
            b"value_float" => {
                let float = self.shortage.copied(&[attribute.float?])?;
                Some(Tensor::of_floats(Vec::new(), float, self.shortage))
            }
            b"value_floats" => {
                let count = attribute.floats.iter().map(|value| match value {
                    Value::Bytes(packed) => packed.len() / 4,
                    _ => 1,
                });
                let dims = self.shortage.copied(&[count.sum::<usize>() as u64])?;
                Some(Tensor::of_floats(dims, attribute.floats, self.shortage))
            }
            _ => None,
        }
    }

    /// Calls `found` with every name that graphs inside this node refer to, whatever it stands for there.
    pub fn names_inside(&self, found: &mut dyn FnMut(&'a [u8])) -> Option<()> {
        let attributes = self.attributes.iter();
        let mut open =
            self.shortage.gather(attributes.map(|attribute| (Message::Attribute, Fields::new(attribute), 1)))?;
        while let Some((message, fields, depth)) = open.pop() {
            fields.each(|number, value| {
                let Value::Bytes(bytes) = value else { return Some(()) };
                match message.inside(number) {
                    Some(Inside::Name) => found(bytes),
                    Some(Inside::Message(_)) if depth == DEEPEST => return None,
                    Some(Inside::Message(inner)) => {
                        self.shortage.push(&mut open, (inner, Fields::new(bytes), depth + 1))?
                    }
                    None => {}
                }
                Some(())
            })?;
        }
        Some(())
    }
}

/// The messages on the way to names.
#[derive(Clone, Copy)]
enum Message {
    Attribute,
    Graph,
    Node,
    Output,
}

enum Inside {
    Message(Message),
    Name,
}

impl Message {
    /// What the field of this number contains, if that is on the way.
    fn inside(self, number: u32) -> Option<Inside> {
        match (self, number) {
            (Message::Attribute, 6 | 11) => Some(Inside::Message(Message::Graph)),
            (Message::Graph, 1) => Some(Inside::Message(Message::Node)),
            (Message::Graph, 12) => Some(Inside::Message(Message::Output)),
            (Message::Node, 5) => Some(Inside::Message(Message::Attribute)),
            (Message::Node, 1) | (Message::Output, 1) => Some(Inside::Name),
            _ => None,
        }
    }
}

/// An attribute of a node, as far as it is of use here.
#[derive(Default)]
pub struct Attribute<'a> {
    name: &'a [u8],
    /// Its kind; old models do not say it.
    kind: u64,
    int: Option<i64>,
    pub ints: Vec<i64>,
    float: Option<Value<'a>>,
    floats: Vec<Value<'a>>,
    pub tensor: Option<&'a [u8]>,
    pub text: &'a [u8],
    /// Whether the value comes from a function's caller.
    is_reference: bool,
}

impl<'a> Attribute<'a> {
    fn read(message: &'a [u8], shortage: &Shortage) -> Option<Attribute<'a>> {
        let mut attribute = Attribute::default();
        Fields::new(message).each(|number, value| {
            match (number, value) {
                (1, Value::Bytes(name)) => attribute.name = name,
                (2, Value::Fixed(_)) => attribute.float = Some(value),
                (3, Value::Varint(number)) => attribute.int = Some(number as i64),
                (4, Value::Bytes(text)) => attribute.text = text,
                (5, Value::Bytes(tensor)) => attribute.tensor = Some(tensor),
                (8, value) => push_varints(&mut attribute.ints, value, shortage)?,
                (7, Value::Fixed(_) | Value::Bytes(_)) => shortage.push(&mut attribute.floats, value)?,
                (20, Value::Varint(kind)) => attribute.kind = kind,
                (21, _) => attribute.is_reference = true,
                _ => {}
            }
            Some(())
        })?;
        Some(attribute)
    }

    /// Its floats.
    pub fn floats(self, shortage: &Shortage) -> Option<Vec<f32>> {
        Tensor::of_floats(Vec::new(), self.floats, shortage).all_floats()
    }

    /// A zero need not be written when the kind is.
    fn int(&self) -> Option<i64> {
        const INT: u64 = 2;
        match (self.is_reference, self.kind) {
            (false, INT) => Some(self.int.unwrap_or(0)),
            (false, 0) => self.int,
            _ => None,
        }
    }
}

/// The bytes of a field that comes once; those that count where it comes more often, and none where it does not.
pub fn last_bytes(message: &[u8], wanted: u32) -> Option<&[u8]> {
    let mut found = &[][..];
    Fields::new(message).each(|number, value| {
        match value {
            Value::Bytes(bytes) if number == wanted => found = bytes,
            _ => {}
        }
        Some(())
    })?;
    Some(found)
}
