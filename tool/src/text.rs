//! Texts for people: shapes, sizes, times, tables.

use crate::abi::{Desc, SlotInfo, dtype_name};

/// Dimensions given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dims(pub Vec<i64>);

/// [1,height,width,3]: open dimensions by name, or as ?.
pub fn shape(desc: &Desc, names: &[String]) -> String {
    let dims: Vec<_> = (desc.dims.iter().enumerate())
        .map(|(axis, dim)| match names.get(axis) {
            _ if *dim >= 0 => dim.to_string(),
            Some(name) if !name.is_empty() => name.clone(),
            _ => "?".to_owned(),
        })
        .collect();
    format!("[{}]", dims.join(","))
}

pub fn slot_type(info: &SlotInfo) -> String {
    format!("{} {}", dtype_name(info.desc.dtype), shape(&info.desc, &info.dim_names))
}

/// 1234567 as 1,234,567.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

pub fn bytes(number: u64) -> String {
    match number {
        1 => "1 byte".to_owned(),
        _ => format!("{} bytes", count(number)),
    }
}

/// A time with three digits that count: 812 ns, 1.24 us, 15.3 ms.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        _ if ns < 1e3 => (ns, "ns"),
        _ if ns < 1e6 => (ns / 1e3, "us"),
        _ if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let decimals = match value {
        _ if unit == "ns" || value >= 99.95 => 0,
        _ if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// Something from a model or a path: without what would move the cursor or break the line.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

/// Something from a model or a path, over several lines where it has them.
pub fn plain_lines(text: &str) -> String {
    text.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

/// What a cell of a table shows at most, in characters: names of models have no limit, lines that people read do.
const WIDEST_CELL: usize = 200;

/// What of a cell is shown: of one that is too long the beginning, and "...".
fn cell(text: &str) -> String {
    if text.chars().nth(WIDEST_CELL).is_none() {
        return plain(text);
    }
    let beginning: String = text.chars().take(WIDEST_CELL - 3).collect();
    plain(&beginning) + "..."
}

/// Rows as columns two spaces apart; empty columns and spaces at the ends of lines are left out.
pub fn table(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|text| cell(text)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths).filter(|(_, width)| **width > 0) {
            line += "  ";
            line += cell;
            line += &" ".repeat(width - cell.chars().count());
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [5.0, 999.0, 1240.0, 15_300_000.0, 2e9].map(time),
            ["5 ns", "999 ns", "1.24 us", "15.3 ms", "2.00 s"]
        );
        assert_eq!([99_960.0, 9_996.0].map(time), ["100 us", "10.0 us"]);
    }

    #[test]
    fn tables() {
        let rows = [["a", "", "long"], ["bcd", "", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "  a    long\n  bcd\n");
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn cells_of_every_length() {
        for length in [0, 1, 199, 200, 201, 65_535, 65_536, 1 << 20] {
            let name = "\u{fc}".repeat(length);
            let text = table(&[vec![name.clone(), "x".to_owned()], vec!["y".to_owned(), "x".to_owned()]]);
            let shown = if length > 200 { "\u{fc}".repeat(197) + "..." } else { name };
            let width = shown.chars().count().max(1);
            assert_eq!(text, format!("  {shown:<width$}  x\n  {:<width$}  x\n", "y"), "{length}");
        }
    }

    #[test]
    fn nothing_moves_the_cursor() {
        for code in (0..0x20).chain(0x7f..0xa0) {
            let letter = char::from_u32(code).unwrap();
            assert_eq!(plain(&format!("a{letter}b")), "a\u{fffd}b", "{code:x}");
            let lines = if letter == '\n' { "a\nb" } else { "a\u{fffd}b" };
            assert_eq!(plain_lines(&format!("a{letter}b")), lines, "{code:x}");
        }
    }
}
