//! The text of a .npy header: a Python dict of three known keys, and no more of Python than these need.

/// The three fields.
#[derive(Debug, PartialEq, Eq)]
pub struct Fields {
    pub descr: String,
    pub fortran_order: bool,
    /// Each 0 or more.
    pub shape: Vec<i64>,
}

pub fn parse(text: &[u8]) -> Result<Fields, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
    let mut reader = Reader { rest: text };
    let fields = reader.dict()?;
    match reader.peek() {
        None => Ok(fields),
        Some(letter) => Err(format!("'{letter}' comes after its end")),
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn dict(&mut self) -> Result<Fields, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.take('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => set(&mut descr, key, self.descr()?)?,
                "fortran_order" => set(&mut fortran_order, key, self.boolean()?)?,
                "shape" => set(&mut shape, key, self.tuple()?)?,
                _ => return Err(format!("the key '{key}' is not known")),
            }
            if !self.take(',') && self.peek() != Some('}') {
                return Err(self.unexpected("',' or '}'"));
            }
        }
        Ok(Fields {
            descr: descr.ok_or("it has no 'descr'")?,
            fortran_order: fortran_order.ok_or("it has no 'fortran_order'")?,
            shape: shape.ok_or("it has no 'shape'")?,
        })
    }

    fn descr(&mut self) -> Result<String, String> {
        if self.peek() == Some('[') {
            return Err("its elements are structures, engines take plain numbers".to_owned());
        }
        self.string().map(str::to_owned)
    }

    /// A string in either kind of quotes; none that headers have needs an escape.
    fn string(&mut self) -> Result<&'a str, String> {
        let quote =
            self.peek().filter(|letter| ['\'', '"'].contains(letter)).ok_or_else(|| self.unexpected("a string"))?;
        self.expect(quote)?;
        let (string, rest) = self.rest.split_once(quote).ok_or("a string has no end")?;
        if string.contains('\\') {
            return Err("a string has an escape in it".to_owned());
        }
        self.rest = rest;
        Ok(string)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        for (word, value) in [("True", true), ("False", false)] {
            if self.skip_spaces().starts_with(word) {
                self.rest = &self.rest[word.len()..];
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn tuple(&mut self) -> Result<Vec<i64>, String> {
        self.expect('(')?;
        let mut dims = Vec::new();
        let mut has_comma = true;
        while !self.take(')') {
            if !has_comma {
                return Err(self.unexpected("',' or ')'"));
            }
            dims.push(self.dimension()?);
            has_comma = self.take(',');
        }
        if dims.len() == 1 && !has_comma {
            return Err("its shape is a number, not a tuple".to_owned());
        }
        Ok(dims)
    }

    fn dimension(&mut self) -> Result<i64, String> {
        let digits = self.skip_spaces().bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        if number.is_empty() {
            return Err(self.unexpected("a dimension of 0 or more"));
        }
        // Python 2 wrote long numbers with an L
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        number.parse().map_err(|_| format!("its dimension {number} does not fit"))
    }

    fn skip_spaces(&mut self) -> &'a str {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
        self.rest
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_spaces().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.skip_spaces().strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) { Ok(()) } else { Err(self.unexpected(&format!("'{wanted}'"))) }
    }

    fn unexpected(&mut self, wanted: &str) -> String {
        match self.peek() {
            None => format!("it ends where {wanted} should be"),
            Some(letter) => format!("{letter:?} is where {wanted} should be"),
        }
    }
}

fn set<T>(place: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("the key '{key}' comes twice")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape_of(shape: &str) -> Result<Vec<i64>, String> {
        parse(format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}").as_bytes())
            .map(|fields| fields.shape)
    }

    #[test]
    fn what_writers_write() {
        let plain = parse(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n").unwrap();
        assert_eq!(plain, Fields { descr: "<f4".to_owned(), fortran_order: false, shape: vec![2, 3] });
        let other = parse(b" {\"shape\":(5L,),\"fortran_order\":True,\"descr\":\"|u1\"}").unwrap();
        assert_eq!(other, Fields { descr: "|u1".to_owned(), fortran_order: true, shape: vec![5] });
        assert_eq!(shape_of("()"), Ok(vec![]));
        assert_eq!(shape_of("(0,)"), Ok(vec![0]));
        assert_eq!(shape_of("(9223372036854775807,)"), Ok(vec![i64::MAX]));
    }

    #[test]
    fn what_nobody_should_write() {
        for shape in [
            "(2)",
            "2",
            "[2]",
            "(2 3)",
            "(,)",
            "(2,,)",
            "(-1,)",
            "(+1,)",
            "(1.5,)",
            "(9223372036854775808,)",
            "(",
            "(1",
        ] {
            assert!(shape_of(shape).is_err(), "{shape}");
        }
        for text in [
            "",
            "{",
            "{}",
            "()",
            "{'descr': '<f4', 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_needs_no_stack() {
        assert!(parse("{".repeat(1 << 20).as_bytes()).is_err());
        assert!(shape_of(&"(".repeat(1 << 20)).is_err());
    }
}
