//! Reading the outer layers of a protobuf message, as far as it takes to know one without its schema.

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    pub number: u32,
    pub value: Value<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Varint(u64),
    /// 4 or 8 bytes.
    Fixed(&'a [u8]),
    /// The begin or the end of a group, a form without use in today's messages. What is inside shows up as fields of the
    /// message around it, so that nothing can hide there.
    Group,
    Bytes(&'a [u8]),
    /// A length that reaches past the end of the message, as in a file that was cut off.
    CutOff,
}

/// The fields of a message, until its end or its first malformed byte.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
    malformed: bool,
}

impl<'a> Fields<'a> {
    pub fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message, malformed: false }
    }

    /// Whether the end was not reached because of bytes that no message contains.
    pub fn is_malformed(&self) -> bool {
        self.malformed
    }

    /// Calls `read` with every field. `None` when it gives none, and when the message is not whole or has a group, which no
    /// message of a model has.
    pub fn each(mut self, mut read: impl FnMut(u32, Value<'a>) -> Option<()>) -> Option<()> {
        for field in self.by_ref() {
            match field.value {
                Value::Group | Value::CutOff => return None,
                value => read(field.number, value)?,
            }
        }
        (!self.malformed).then_some(())
    }

    /// Numbers that lie side by side without tags.
    pub fn packed_varints(packed: &'a [u8]) -> PackedVarints<'a> {
        PackedVarints(Fields::new(packed))
    }

    fn field(&mut self) -> Option<Field<'a>> {
        // bits beyond 32 are dropped, as the engine's reader does, so that both see the same number
        let tag = self.varint()? as u32;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.skip(8).map(Value::Fixed)?,
            2 => self.bytes()?,
            3 | 4 => Value::Group,
            5 => self.skip(4).map(Value::Fixed)?,
            _ => return None,
        };
        (tag >> 3 != 0).then_some(Field { number: tag >> 3, value })
    }

    fn bytes(&mut self) -> Option<Value<'a>> {
        let length = usize::try_from(self.varint()?).ok()?;
        if length > self.rest.len() {
            self.rest = &[];
            return Some(Value::CutOff);
        }
        self.skip(length).map(Value::Bytes)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for (position, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * position);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[position + 1..];
                return Some(value);
            }
        }
        None
    }

    fn skip(&mut self, count: usize) -> Option<&'a [u8]> {
        let (skipped, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(skipped)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        if self.rest.is_empty() || self.malformed {
            return None;
        }
        let field = self.field();
        self.malformed = field.is_none();
        field
    }
}

/// Numbers up to the end of a field, each `None` where it is cut off; the last one then.
pub struct PackedVarints<'a>(Fields<'a>);

impl Iterator for PackedVarints<'_> {
    type Item = Option<u64>;

    fn next(&mut self) -> Option<Option<u64>> {
        if self.0.rest.is_empty() {
            return None;
        }
        let number = self.0.varint();
        if number.is_none() {
            self.0.rest = &[];
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_of_fields() {
        let message = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8];
        let fields: Vec<_> = Fields::new(&message).map(|field| (field.number, field.value)).collect();
        let (four, eight) = (Value::Fixed(&[1, 2, 3, 4]), Value::Fixed(&[1, 2, 3, 4, 5, 6, 7, 8]));
        let wanted = [(1, Value::Varint(150)), (2, Value::Bytes(b"hi")), (3, four), (4, eight)];
        assert_eq!(fields, wanted);
    }

    #[test]
    fn nothing_hides() {
        let in_group = [0x0b, 0x12, 1, b'x', 0x0c];
        let found = Fields::new(&in_group).any(|field| field.value == Value::Bytes(b"x"));
        assert!(found, "a field inside a group");
        let long_tag = [0x92, 0x80, 0x80, 0x80, 0x70, 0x81, 0x80, 0x00, b'x'];
        let wanted = Field { number: 2, value: Value::Bytes(b"x") };
        assert_eq!(Fields::new(&long_tag).next(), Some(wanted), "a tag and a length longer than they need to be");
    }

    #[test]
    fn damage_ends_the_message() {
        assert_eq!(Fields::new(&[0x12, 9, b'x']).last().unwrap().value, Value::CutOff);
        for malformed in [&[0x0e][..], &[0x00, 0x00], &[0xff; 12], &[0x08], &[0x1d, 1]] {
            let mut fields = Fields::new(malformed);
            assert_eq!(fields.by_ref().count(), 0);
            assert!(fields.is_malformed());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Fields::new(&bytes).count() <= bytes.len());
        }
    }
}
