//! The graphs of a file, read once into lists that the checks can go through.

use std::borrow::Cow;

use super::schema::{self, field, kind};
use crate::base::room::joined;
use crate::base::{Error, Gather, Result, fail, text};
use crate::runtime::tflite::file::content;
use crate::runtime::tflite::flatbuffer::{Table, Tables};

/// More dimensions than any operator of the engine can work on, and than a slot can have.
const MOST_RANK: usize = 16;

pub struct Model<'a> {
    pub graphs: Vec<Graph<'a>>,
}

pub struct Graph<'a> {
    pub number: usize,
    pub name: &'a [u8],
    pub tensors: Vec<Tensor<'a>>,
    pub inputs: Vec<i32>,
    pub outputs: Vec<i32>,
    pub operators: Vec<Operator<'a>>,
}

pub struct Tensor<'a> {
    pub table: Table<'a>,
    pub kind: u8,
    /// As it is written: a 1, mostly, where a dimension is open.
    pub shape: Vec<i32>,
    /// The same with -1 where it is open; `None` where the format does not tell the rank.
    pub dims: Option<Vec<i64>>,
    pub is_variable: bool,
    /// The value of a constant.
    pub value: Option<&'a [u8]>,
    pub is_sparse: bool,
}

pub struct Operator<'a> {
    pub table: Table<'a>,
    pub code: i32,
    pub inputs: Vec<i32>,
    pub outputs: Vec<i32>,
    pub options_type: u8,
    pub options: Option<Table<'a>>,
}

impl<'a> Model<'a> {
    pub fn read(file: &'a [u8]) -> Result<Model<'a>> {
        let Some(model) = Table::root(file) else { return fail!(ModelInvalid, "there is no model in the file") };
        let codes = read_codes(model)?;
        let buffers = model.tables(field::model::BUFFERS);
        let graphs = model.tables(field::model::SUBGRAPHS);
        let read = |(number, table)| {
            let name = text!("subgraph {number}");
            let Some(table) = table else { return unreadable(&name) };
            Graph::read(file, number, table, &codes, buffers).map_err(|error| error.at(name))
        };
        Ok(Model { graphs: graphs.iter().enumerate().map(read).gather_all()? })
    }
}

/// What a table is that leads out of the file.
fn unreadable<T>(what: &str) -> Result<T> {
    fail!(ModelInvalid, "{what} cannot be read: an offset to it or in it leads nowhere in the file")
}

/// The numbers of the operators' kinds. Old files have only a field of eight bits, newer ones both.
fn read_codes(model: Table) -> Result<Vec<i32>> {
    let code = |(number, table): (usize, Option<Table>)| {
        let read = table.and_then(|table| {
            let old = i32::from(table.u8(field::operator_code::OLD_CODE, 0)? as i8);
            Some(old.max(table.i32(field::operator_code::CODE, 0)?))
        });
        read.map_or_else(|| unreadable(&text!("operator code {number}")), Ok)
    };
    model.tables(field::model::OPERATOR_CODES).iter().enumerate().map(code).gather_all()
}

impl<'a> Graph<'a> {
    fn read(file: &'a [u8], number: usize, table: Table<'a>, codes: &[i32], buffers: Tables<'a>) -> Result<Graph<'a>> {
        let tensors = table.tables(field::subgraph::TENSORS).iter().enumerate();
        let operators = table.tables(field::subgraph::OPERATORS).iter().enumerate();
        let tensor = |(index, table): (usize, Option<Table<'a>>)| {
            let read = table.map_or_else(|| unreadable("it"), |table| Tensor::read(file, table, buffers));
            read.map_err(|error| error.at(text!("tensor {index}")))
        };
        let operator = |(index, table): (usize, Option<Table<'a>>)| {
            let read = table.map_or_else(|| unreadable("it"), |table| Operator::read(table, codes));
            read.map_err(|error| error.at(text!("operator {index}")))
        };
        Ok(Graph {
            number,
            name: table.bytes(field::subgraph::NAME).unwrap_or_default(),
            tensors: tensors.map(tensor).gather_all()?,
            inputs: table.ints(field::subgraph::INPUTS).gather()?,
            outputs: table.ints(field::subgraph::OUTPUTS).gather()?,
            operators: operators.map(operator).gather_all()?,
        })
    }

    pub fn tensor(&self, index: i32) -> Option<&Tensor<'a>> {
        self.tensors.get(usize::try_from(index).ok()?)
    }

    /// "tensor 7 'dense/bias' of byte 1234", for texts.
    pub fn label(&self, index: i32) -> String {
        match self.tensor(index) {
            Some(tensor) => text!("tensor {index} '{}' (at byte {})", tensor.name(), tensor.table.position()),
            None => text!("tensor {index}"),
        }
    }

    /// "subgraph 0 'main'".
    pub fn place(&self) -> String {
        text!("subgraph {} '{}'", self.number, shown(self.name))
    }

    /// A fault of one tensor.
    pub fn fault(&self, index: usize, text: impl std::fmt::Display) -> Error {
        Error::new(crate::base::Status::ModelInvalid, text!("{}: {text}", self.label(index as i32))).at(self.place())
    }
}

impl<'a> Tensor<'a> {
    fn read(file: &'a [u8], table: Table<'a>, buffers: Tables<'a>) -> Result<Tensor<'a>> {
        let shape: Vec<i32> = table.ints(field::tensor::SHAPE).gather()?;
        if shape.len() > MOST_RANK {
            return fail!(ModelInvalid, "at byte {}: it has {} dimensions", table.position(), shape.len());
        }
        let value = read_value(file, table, buffers)?;
        let open: Vec<i32> = table.ints(field::tensor::SIGNATURE).gather()?;
        let flag = |id| table.u8(id, 0);
        let (Some(kind), Some(has_rank), Some(is_variable)) =
            (flag(field::tensor::TYPE), flag(field::tensor::HAS_RANK), flag(field::tensor::IS_VARIABLE))
        else {
            return unreadable("it");
        };
        let has_rank = !shape.is_empty() || value.is_some() || has_rank != 0;
        Ok(Tensor {
            table,
            kind,
            dims: has_rank.then(|| declared(&shape, &open)).transpose()?,
            is_variable: is_variable != 0,
            value,
            is_sparse: table.has(field::tensor::SPARSITY),
            shape,
        })
    }

    pub fn name(&self) -> Cow<'a, str> {
        shown(self.table.bytes(field::tensor::NAME).unwrap_or_default())
    }

    /// Its elements as they are written; `None` beyond 64 bits or below 0.
    pub fn elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |product, dim| product.checked_mul(u64::try_from(*dim).ok()?))
    }

    /// Its bytes as it is written; `None` where it has no size, or it does not fit into 64 bits.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.elements()?.checked_mul(schema::bits(self.kind)?)?.div_ceil(8))
    }

    /// The whole numbers of a constant; `None` where it is none, or of another type.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let value = self.value.filter(|_| !self.is_sparse)?;
        // a buffer may be longer than its tensor
        let count = usize::try_from(self.elements()?).ok()?;
        let narrow = |word: &[u8; 4]| i32::from_le_bytes(*word).into();
        match self.kind {
            // where there is no memory for the list, the engine will not have it either
            kind::I32 => value.as_chunks().0.iter().take(count).map(narrow).gather().ok(),
            kind::I64 => value.as_chunks().0.iter().take(count).map(|word| i64::from_le_bytes(*word)).gather().ok(),
            _ => None,
        }
    }

    /// "f32 [1, ?, 8]"
    pub fn shown(&self) -> String {
        let dims = self.dims.as_ref().map_or_else(|| text!("of unknown rank"), |dims| shown_dims(dims));
        text!("{} {dims}", schema::kind_name(self.kind))
    }
}

pub fn shown_dims(dims: &[i64]) -> String {
    let dim = |dim: &i64| if *dim < 0 { text!("?") } else { text!("{dim}") };
    text!("[{}]", joined(dims.iter().map(dim), ", "))
}

/// The shape with -1 where the signature leaves it open. One that does not fit the shape tells nothing.
fn declared(shape: &[i32], open: &[i32]) -> Result<Vec<i64>> {
    let is_open = |at: usize| match open.get(at) {
        Some(dim) => open.len() != shape.len() || *dim < 0,
        None => !open.is_empty(),
    };
    shape.iter().enumerate().map(|(at, dim)| if is_open(at) { -1 } else { i64::from(*dim) }).gather()
}

/// The bytes of the tensor's buffer; `None` for the empty buffer, which is that of everything that is no constant.
fn read_value<'a>(file: &'a [u8], tensor: Table<'a>, buffers: Tables<'a>) -> Result<Option<&'a [u8]>> {
    let number = tensor.u32(field::tensor::BUFFER, 0).and_then(|number| usize::try_from(number).ok());
    let Some(number) = number else { return unreadable("it") };
    if number == 0 {
        return Ok(None);
    }
    let place = tensor.position();
    if number >= buffers.len() {
        return fail!(ModelInvalid, "at byte {place}: its buffer is {number}, and the model has {}", buffers.len());
    }
    match buffers.get(number).and_then(|buffer| content(file, buffer)) {
        Some(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        None => fail!(
            ModelInvalid,
            "at byte {place}: its buffer {number} cannot be read: an offset leads nowhere in the file"
        ),
    }
}

impl<'a> Operator<'a> {
    fn read(table: Table<'a>, codes: &[i32]) -> Result<Operator<'a>> {
        let Some(opcode) = table.u32(field::operator::OPCODE, 0) else { return unreadable("it") };
        let Some(code) = usize::try_from(opcode).ok().and_then(|opcode| codes.get(opcode)) else {
            return fail!(
                ModelInvalid,
                "at byte {}: its operator code is {opcode}, and the model has {}",
                table.position(),
                codes.len()
            );
        };
        Ok(Operator {
            table,
            code: *code,
            inputs: table.ints(field::operator::INPUTS).gather()?,
            outputs: table.ints(field::operator::OUTPUTS).gather()?,
            options_type: table.u8(field::operator::OPTIONS_TYPE, 0).unwrap_or(0),
            options: table.table(field::operator::OPTIONS),
        })
    }
}

/// Text of a file as it can be shown.
fn shown(text: &[u8]) -> Cow<'_, str> {
    const LONGEST: usize = 80;
    String::from_utf8_lossy(&text[..text.len().min(LONGEST)])
}
