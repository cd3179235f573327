//! Protobuf as its documentation has it, for what writes it to be read by something else.

use std::collections::BTreeMap;

/// The fields of a message: numbers, and bytes.
#[derive(Default)]
pub(crate) struct Fields<'a> {
    pub(crate) numbers: BTreeMap<u64, u64>,
    /// Numbers of eight bytes, which may be several of one field.
    pub(crate) fixed: Vec<(u64, u64)>,
    bytes: Vec<(u64, &'a [u8])>,
}

fn varint(from: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = from[0];
        *from = &from[1..];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

impl<'a> Fields<'a> {
    pub(crate) fn of(mut from: &'a [u8]) -> Fields<'a> {
        let mut fields = Fields::default();
        while !from.is_empty() {
            let key = varint(&mut from);
            match key & 7 {
                0 => {
                    fields.numbers.insert(key >> 3, varint(&mut from));
                }
                1 => {
                    let (bytes, rest) = from.split_first_chunk().expect("eight bytes");
                    fields.fixed.push((key >> 3, u64::from_le_bytes(*bytes)));
                    from = rest;
                }
                2 => {
                    let length = varint(&mut from) as usize;
                    let (bytes, rest) = from.split_at(length);
                    fields.bytes.push((key >> 3, bytes));
                    from = rest;
                }
                other => panic!("there is no field of type {other}"),
            }
        }
        fields
    }

    pub(crate) fn all(&self, field: u64) -> impl Iterator<Item = &'a [u8]> {
        self.bytes.iter().filter(move |(number, _)| *number == field).map(|(_, bytes)| *bytes)
    }

    pub(crate) fn text(&self, field: u64) -> String {
        self.all(field).next().map_or_else(String::new, |bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }
}
