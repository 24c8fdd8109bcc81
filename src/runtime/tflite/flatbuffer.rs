//! Reading flatbuffers, whatever the bytes are.
//!
//! Nothing is believed: each step looks whether the place that it was sent to lies within the bytes, and gives `None` where
//! it does not. No step follows more than one offset, so nothing here can loop.
//!
//! A table is a signed offset back to its vtable, then its fields. A vtable is its own size and the table's as 16 bits, then
//! for each field the distance from the start of the table, 0 for one that is absent. All else is reached by an offset of 32
//! bits from the place where it is written; a vector and a string begin with their count.

/// An offset, and the count of a vector.
const WORD: usize = 4;
/// The two sizes at the start of a vtable.
const VTABLE_HEAD: usize = 4;

/// A table of which the vtable lies within the bytes.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Distances of the fields, two bytes each.
    fields: &'a [u8],
}

impl<'a> Table<'a> {
    /// The table that the bytes begin with.
    pub fn root(bytes: &'a [u8]) -> Option<Table<'a>> {
        Table::new(bytes, follow(bytes, 0)?)
    }

    fn new(bytes: &'a [u8], at: usize) -> Option<Table<'a>> {
        let back = i64::from(i32::from_le_bytes(take(bytes, at)?));
        let vtable = usize::try_from(i64::try_from(at).ok()?.checked_sub(back)?).ok()?;
        let size = usize::from(u16::from_le_bytes(take(bytes, vtable)?));
        let fields = bytes.get(vtable..)?.get(VTABLE_HEAD..size)?;
        Some(Table { bytes, at, fields })
    }

    /// Where a field is; `None` for one that is absent.
    fn field(self, id: usize) -> Option<usize> {
        let distance = u16::from_le_bytes(take(self.fields, id.checked_mul(2)?)?);
        (distance != 0).then(|| self.at.saturating_add(distance.into()))
    }

    /// A number; `default` where the field is absent, `None` where it is damaged.
    pub fn u32(self, id: usize, default: u32) -> Option<u32> {
        self.field(id).map_or(Some(default), |at| take(self.bytes, at).map(u32::from_le_bytes))
    }

    /// The same with 64 bits.
    pub fn u64(self, id: usize, default: u64) -> Option<u64> {
        self.field(id).map_or(Some(default), |at| take(self.bytes, at).map(u64::from_le_bytes))
    }

    /// A signed number of 32 bits.
    pub fn i32(self, id: usize, default: i32) -> Option<i32> {
        self.field(id).map_or(Some(default), |at| take(self.bytes, at).map(i32::from_le_bytes))
    }

    /// A number of 8 bits.
    pub fn u8(self, id: usize, default: u8) -> Option<u8> {
        self.field(id).map_or(Some(default), |at| take(self.bytes, at).map(u8::from_le_bytes))
    }

    /// Whether the field is there.
    pub fn has(self, id: usize) -> bool {
        self.field(id).is_some()
    }

    /// Where the table is in the file.
    pub fn position(self) -> usize {
        self.at
    }

    /// A table inside this one; `None` where it is absent or damaged.
    pub fn table(self, id: usize) -> Option<Table<'a>> {
        Table::new(self.bytes, follow(self.bytes, self.field(id)?)?)
    }

    /// A vector of numbers of `N` bytes each; `None` where it is absent or damaged.
    pub fn numbers<const N: usize>(self, id: usize) -> Option<&'a [[u8; N]]> {
        let at = follow(self.bytes, self.field(id)?)?;
        let count = usize::try_from(u32::from_le_bytes(take(self.bytes, at)?)).ok()?;
        let content = self.bytes.get(at..)?.get(WORD..)?.get(..count.checked_mul(N)?)?;
        Some(content.as_chunks().0)
    }

    /// The same as signed numbers of 32 bits; none where the field is absent or damaged.
    pub fn ints(self, id: usize) -> impl ExactSizeIterator<Item = i32> + 'a {
        self.numbers::<4>(id).unwrap_or_default().iter().map(|bytes| i32::from_le_bytes(*bytes))
    }

    /// The bytes of a string, or of a vector of bytes.
    pub fn bytes(self, id: usize) -> Option<&'a [u8]> {
        let at = follow(self.bytes, self.field(id)?)?;
        let count = usize::try_from(u32::from_le_bytes(take(self.bytes, at)?)).ok()?;
        self.bytes.get(at..)?.get(WORD..)?.get(..count)
    }

    /// A vector of tables; none where the field is absent or damaged.
    pub fn tables(self, id: usize) -> Tables<'a> {
        let vector = self.field(id).and_then(|at| follow(self.bytes, at));
        vector.and_then(|at| Tables::new(self.bytes, at)).unwrap_or(Tables { bytes: self.bytes, first: 0, count: 0 })
    }
}

/// A vector of tables, of which each can still be damaged.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    bytes: &'a [u8],
    first: usize,
    count: usize,
}

impl<'a> Tables<'a> {
    fn new(bytes: &'a [u8], at: usize) -> Option<Tables<'a>> {
        let count = usize::try_from(u32::from_le_bytes(take(bytes, at)?)).ok()?;
        let first = at.checked_add(WORD)?;
        // a count that is a lie ends where the bytes do
        let most = bytes.len().checked_sub(first)? / WORD;
        Some(Tables { bytes, first, count: count.min(most) })
    }

    /// One of them; `None` where it is damaged, or there is none.
    pub fn get(self, index: usize) -> Option<Table<'a>> {
        let at = (index < self.count).then(|| self.first + index * WORD)?;
        Table::new(self.bytes, follow(self.bytes, at)?)
    }

    pub fn len(self) -> usize {
        self.count
    }

    pub fn iter(self) -> impl Iterator<Item = Option<Table<'a>>> {
        (0..self.count).map(move |index| self.get(index))
    }
}

/// The place that the offset at `at` leads to.
fn follow(bytes: &[u8], at: usize) -> Option<usize> {
    let offset = usize::try_from(u32::from_le_bytes(take(bytes, at)?)).ok()?;
    at.checked_add(offset)
}

/// So many bytes from `at` on, if they are there.
fn take<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::writer::{Field, finish};
    use super::*;

    /// A number, a string, bytes, a long number, and two tables with a number each.
    fn sample() -> Vec<u8> {
        finish(&vec![
            (0, Field::U32(7)),
            (1, Field::text("seven")),
            (3, Field::Bytes(vec![1, 2, 3])),
            (4, Field::U64(1 << 40)),
            (5, Field::Tables(vec![vec![(0, Field::U32(11))], vec![(2, Field::U32(12))]])),
        ])
    }

    #[test]
    fn fields_are_found_and_absent_ones_are_the_default() {
        let bytes = sample();
        let root = Table::root(&bytes).unwrap();
        assert_eq!((root.u32(0, 1), root.u32(2, 1), root.u32(99, 1)), (Some(7), Some(1), Some(1)));
        assert_eq!((root.u64(4, 0), root.u64(usize::MAX, 5)), (Some(1 << 40), Some(5)));
        assert_eq!((root.bytes(1), root.bytes(3), root.bytes(2)), (Some(&b"seven"[..]), Some(&[1, 2, 3][..]), None));
        let tables = root.tables(5);
        assert_eq!(tables.iter().count(), 2);
        assert_eq!(tables.get(0).unwrap().u32(0, 0), Some(11));
        assert_eq!(tables.get(1).unwrap().u32(2, 0), Some(12));
        assert!(tables.get(2).is_none() && tables.get(usize::MAX).is_none());
        assert_eq!(root.tables(2).iter().count(), 0);
    }

    #[test]
    fn places_outside_of_the_bytes_are_nothing() {
        for bytes in [&[][..], &[0; 3], &[0; 4], &[255; 64], &[4, 0, 0, 0, 0, 0, 0, 128]] {
            assert!(Table::root(bytes).is_none(), "{bytes:?}");
        }
        let bytes = sample();
        for end in 0..bytes.len() {
            read_all(&bytes[..end]);
        }
    }

    #[test]
    fn a_count_that_is_a_lie_ends_where_the_bytes_do() {
        let bytes = finish(&vec![(0, Field::Tables(vec![vec![(0, Field::U32(9))]]))]);
        let root = Table::root(&bytes).unwrap();
        let count = root.tables(0).first - WORD;
        let mut lying = bytes.clone();
        lying[count..count + WORD].fill(255);
        let tables = Table::root(&lying).unwrap().tables(0);
        assert!(tables.iter().count() <= bytes.len() / WORD);
        assert_eq!(tables.get(0).unwrap().u32(0, 0), Some(9));
    }

    /// Reads whatever can be read, two levels deep.
    fn read_all(bytes: &[u8]) {
        let Some(root) = Table::root(bytes) else { return };
        read_fields(root);
        (0..8).flat_map(|id| root.tables(id).iter()).flatten().for_each(read_fields);
    }

    fn read_fields(table: Table) {
        for id in 0..8 {
            let _ = (table.u32(id, 0), table.u64(id, 0), table.bytes(id).map(<[u8]>::len));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_read_out_of_bounds(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            read_all(&bytes);
        }

        #[test]
        fn small_offsets_are_followed_safely(bytes in prop::collection::vec(0u8..16, 8..256)) {
            read_all(&bytes);
        }

        #[test]
        fn changes_to_a_good_one_are_read_safely(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            end in any::<prop::sample::Index>(),
        ) {
            let mut bytes = sample();
            for (place, value) in changes {
                let place = place.index(bytes.len());
                bytes[place] = value;
            }
            read_all(&bytes[..end.index(bytes.len()) + 1]);
        }
    }
}
