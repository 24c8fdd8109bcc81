//! Small models, so that a test can have the one that it needs.

use super::writer::{Field, Fields, finish};

/// Numbers of element types in the schema.
pub mod kind {
    pub const F32: u8 = 0;
    pub const I32: u8 = 2;
    pub const STRING: u8 = 5;
    pub const I4: u8 = 17;
}

/// A tensor: open dimensions are -1 and begin as 1.
pub fn tensor(name: &str, kind: u8, dims: &[i32]) -> Fields {
    vec![
        (0, Field::Ints(dims.iter().map(|dim| if *dim < 0 { 1 } else { *dim }).collect())),
        (1, Field::U8(kind)),
        (3, Field::text(name)),
        (7, Field::Ints(dims.to_vec())),
        (8, Field::U8(1)),
    ]
}

/// The same with the bytes of a buffer as its value.
pub fn constant(name: &str, kind: u8, dims: &[i32], buffer: u32) -> Fields {
    let mut fields = tensor(name, kind, dims);
    fields.push((2, Field::U32(buffer)));
    fields
}

pub struct Operator {
    pub code: u8,
    pub inputs: Vec<i32>,
    pub outputs: Vec<i32>,
    /// The number of the kind of options, and the options.
    pub options: Option<(u8, Fields)>,
}

impl Operator {
    pub fn new(code: u8, inputs: &[i32], outputs: &[i32]) -> Operator {
        Operator { code, inputs: inputs.to_vec(), outputs: outputs.to_vec(), options: None }
    }

    pub fn add(inputs: &[i32], outputs: &[i32]) -> Operator {
        Operator { options: Some((11, Vec::new())), ..Operator::new(0, inputs, outputs) }
    }

    pub fn concatenation(inputs: &[i32], outputs: &[i32], axis: u32) -> Operator {
        Operator { options: Some((10, vec![(0, Field::U32(axis))])), ..Operator::new(2, inputs, outputs) }
    }

    /// With steps of one and no padding.
    pub fn conv_2d(inputs: &[i32], outputs: &[i32]) -> Operator {
        let options = vec![(0, Field::U8(1)), (1, Field::U32(1)), (2, Field::U32(1))];
        Operator { options: Some((1, options)), ..Operator::new(3, inputs, outputs) }
    }

    pub fn reshape(inputs: &[i32], outputs: &[i32]) -> Operator {
        Operator::new(22, inputs, outputs)
    }

    pub fn cast(inputs: &[i32], outputs: &[i32]) -> Operator {
        Operator::new(53, inputs, outputs)
    }
}

/// A model of one graph.
#[derive(Default)]
pub struct Written {
    pub tensors: Vec<Fields>,
    /// Numbers of tensors.
    pub inputs: Vec<i32>,
    pub outputs: Vec<i32>,
    pub operators: Vec<Operator>,
    /// Values of constants; the first one has the number 1, since 0 is the empty buffer.
    pub buffers: Vec<Vec<u8>>,
}

impl Written {
    pub fn bytes(&self) -> Vec<u8> {
        let code = |operator: &Operator| {
            vec![(0, Field::U8(operator.code)), (2, Field::U32(1)), (3, Field::U32(operator.code.into()))]
        };
        let graph = vec![
            (0, Field::Tables(self.tensors.clone())),
            (1, Field::Ints(self.inputs.clone())),
            (2, Field::Ints(self.outputs.clone())),
            (3, Field::Tables(self.operators.iter().enumerate().map(write_operator).collect())),
        ];
        let values = self.buffers.iter().map(|bytes| vec![(0, Field::Bytes(bytes.clone()))]);
        let model = vec![
            (0, Field::U32(3)),
            (1, Field::Tables(self.operators.iter().map(code).collect())),
            (2, Field::Tables(vec![graph])),
            (4, Field::Tables([Vec::new()].into_iter().chain(values).collect())),
        ];
        finish(&model)
    }
}

fn write_operator((position, operator): (usize, &Operator)) -> Fields {
    let mut fields = vec![
        (0, Field::U32(position as u32)),
        (1, Field::Ints(operator.inputs.clone())),
        (2, Field::Ints(operator.outputs.clone())),
    ];
    if let Some((kind, options)) = &operator.options {
        fields.extend([(3, Field::U8(*kind)), (4, Field::Table(options.clone()))]);
    }
    fields
}
