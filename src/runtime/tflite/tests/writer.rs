//! Writes flatbuffers.

/// A table: numbers of fields with their values.
pub type Fields = Vec<(usize, Field)>;

#[derive(Clone)]
pub enum Field {
    U8(u8),
    U32(u32),
    U64(u64),
    Bytes(Vec<u8>),
    Ints(Vec<i32>),
    /// Numbers of 64 bits, as bytes.
    Longs(Vec<u8>),
    Table(Fields),
    Tables(Vec<Fields>),
    /// A vector whose elements are all the same table.
    Repeated(Fields, usize),
}

impl Field {
    pub fn text(text: &str) -> Field {
        Field::Bytes(text.as_bytes().to_vec())
    }
}

/// The bytes of a model file whose root has these fields.
pub fn finish(root: &Fields) -> Vec<u8> {
    let mut out = b"\0\0\0\0TFL3".to_vec();
    let at = write_table(&mut out, root);
    point(&mut out, 0, at);
    out
}

/// Each field takes eight bytes, which is wasteful and always aligned. What it points to comes behind the table.
fn write_table(out: &mut Vec<u8>, fields: &Fields) -> usize {
    let count = fields.iter().map(|(id, _)| id + 1).max().unwrap_or(0);
    pad(out, 4, 0);
    let vtable = out.len();
    let mut distances = vec![0u16; count];
    for (position, (id, _)) in fields.iter().enumerate() {
        distances[*id] = 4 + 8 * position as u16;
    }
    let sizes = [4 + 2 * count as u16, 4 + 8 * fields.len() as u16];
    sizes.iter().chain(&distances).for_each(|number| out.extend(number.to_le_bytes()));
    pad(out, 8, 4);
    let table = out.len();
    out.extend(((table - vtable) as i32).to_le_bytes());
    for (_, field) in fields {
        let inline = match field {
            Field::U8(number) => u64::from(*number),
            Field::U32(number) => u64::from(*number),
            Field::U64(number) => *number,
            _ => 0,
        };
        out.extend(inline.to_le_bytes());
    }
    for (position, (_, field)) in fields.iter().enumerate() {
        if let Some(target) = write_target(out, field) {
            point(out, table + 4 + 8 * position, target);
        }
    }
    table
}

fn write_target(out: &mut Vec<u8>, field: &Field) -> Option<usize> {
    match field {
        Field::U8(_) | Field::U32(_) | Field::U64(_) => None,
        Field::Bytes(bytes) => Some(write_vector(out, bytes.len(), bytes)),
        Field::Ints(numbers) => {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            Some(write_vector(out, numbers.len(), &bytes))
        }
        Field::Longs(bytes) => Some(write_vector(out, bytes.len() / 8, bytes)),
        Field::Table(fields) => Some(write_table(out, fields)),
        Field::Tables(tables) => {
            let vector = write_vector(out, tables.len(), &vec![0; 4 * tables.len()]);
            for (position, fields) in tables.iter().enumerate() {
                let target = write_table(out, fields);
                point(out, vector + 4 + 4 * position, target);
            }
            Some(vector)
        }
        Field::Repeated(fields, count) => {
            let vector = write_vector(out, *count, &vec![0; 4 * count]);
            let target = write_table(out, fields);
            (0..*count).for_each(|position| point(out, vector + 4 + 4 * position, target));
            Some(vector)
        }
    }
}

/// The elements begin at a multiple of 16, and a zero follows them, as strings need it.
fn write_vector(out: &mut Vec<u8>, count: usize, bytes: &[u8]) -> usize {
    pad(out, 16, 12);
    let at = out.len();
    out.extend((count as u32).to_le_bytes());
    out.extend(bytes);
    out.push(0);
    at
}

fn pad(out: &mut Vec<u8>, unit: usize, rest: usize) {
    while out.len() % unit != rest {
        out.push(0);
    }
}

fn point(out: &mut [u8], from: usize, to: usize) {
    out[from..from + 4].copy_from_slice(&((to - from) as u32).to_le_bytes());
}
