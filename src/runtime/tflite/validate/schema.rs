//! Numbers of the format (version 3 of TFLite's schema) that the checks need.

/// Numbers of fields.
pub mod field {
    pub mod model {
        pub const OPERATOR_CODES: usize = 1;
        pub const SUBGRAPHS: usize = 2;
        pub const BUFFERS: usize = 4;
    }
    pub mod operator_code {
        pub const OLD_CODE: usize = 0;
        pub const CODE: usize = 3;
    }
    pub mod subgraph {
        pub const TENSORS: usize = 0;
        pub const INPUTS: usize = 1;
        pub const OUTPUTS: usize = 2;
        pub const OPERATORS: usize = 3;
        pub const NAME: usize = 4;
    }
    pub mod tensor {
        pub const SHAPE: usize = 0;
        pub const TYPE: usize = 1;
        pub const BUFFER: usize = 2;
        pub const NAME: usize = 3;
        pub const QUANTIZATION: usize = 4;
        pub const IS_VARIABLE: usize = 5;
        pub const SPARSITY: usize = 6;
        pub const SIGNATURE: usize = 7;
        pub const HAS_RANK: usize = 8;
    }
    pub mod quantization {
        pub const SCALE: usize = 2;
        pub const ZERO_POINT: usize = 3;
        pub const DIMENSION: usize = 6;
    }
    pub mod sparsity {
        pub const TRAVERSAL_ORDER: usize = 0;
        pub const BLOCK_MAP: usize = 1;
        pub const DIMENSIONS: usize = 2;
    }
    pub mod dimension {
        pub const FORMAT: usize = 0;
        pub const DENSE_SIZE: usize = 1;
        pub const SEGMENTS_TYPE: usize = 2;
        pub const SEGMENTS: usize = 3;
        pub const INDICES_TYPE: usize = 4;
        pub const INDICES: usize = 5;
    }
    pub mod operator {
        pub const OPCODE: usize = 0;
        pub const INPUTS: usize = 1;
        pub const OUTPUTS: usize = 2;
        pub const OPTIONS_TYPE: usize = 3;
        pub const OPTIONS: usize = 4;
        pub const INTERMEDIATES: usize = 8;
    }
}

/// Numbers of element types.
pub mod kind {
    pub const I32: u8 = 2;
    pub const U8: u8 = 3;
    pub const I64: u8 = 4;
    pub const STRING: u8 = 5;
    pub const BOOL: u8 = 6;
    pub const I16: u8 = 7;
    pub const I8: u8 = 9;
    pub const RESOURCE: u8 = 13;
}

/// Bits of an element; `None` for strings and handles, which have no size, and for types that are not known.
pub fn bits(kind: u8) -> Option<u64> {
    Some(match kind {
        0 | 2 | 15 => 32,
        1 | 7 | 16 | 18 => 16,
        3 | 6 | 9 => 8,
        4 | 8 | 10 | 12 => 64,
        11 => 128,
        17 => 4,
        _ => return None,
    })
}

pub fn kind_name(kind: u8) -> &'static str {
    const NAMES: [&str; 19] = [
        "f32", "f16", "i32", "u8", "i64", "string", "bool", "i16", "c64", "i8", "f64", "c128", "u64", "resource",
        "variant", "u32", "u16", "i4", "bf16",
    ];
    NAMES.get(usize::from(kind)).copied().unwrap_or("an unknown type")
}
