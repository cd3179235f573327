//! How tuples were used, as bytes. What is counted of the tuples themselves follows from them.

use super::hot_keys::{HotKeys, Key, PLACES};
use super::{MAX_NAMES, Row, Usage};
use crate::codec::{MAX_PARTITION_NAME_BYTES, MAX_TEMPLATE_SHAPES, TemplateShape, read_fields};
use crate::space::snapshot::{read_optional, write_optional};
use quintet_contract::Time;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_wire::{DecodeError, Reader, Sink};

impl Usage {
    pub(in crate::space) fn save(&self, bytes: &mut Vec<u8>) {
        let Usage { rows, latest: _, next_free } = self;
        bytes.u32(u32::try_from(rows.len()).expect("few rows"));
        rows.iter().for_each(|row| row.save(bytes));
        bytes.u8(*next_free);
    }

    /// The rows, which hold no tuple so far.
    pub(in crate::space) fn restore(reader: &mut Reader<'_>) -> Result<Usage, DecodeError> {
        let mut usage = Usage::new();
        usage.rows.clear();
        for at in 0..reader.length("number of partitions", MAX_NAMES + 1)? {
            let row = Row::restore(reader)?;
            if row.name.is_none() != (at == 0)
                || usage.rows.iter().skip(1).any(|known| known.name == row.name)
            {
                return Err(reader.invalid("name of a partition", at as u64, 1));
            }
            usage.rows.push(row);
        }
        if usage.rows.is_empty() {
            return Err(reader.invalid("number of partitions", 0u8, 4));
        }
        usage.next_free = reader.u8()?;
        match usize::from(usage.next_free) {
            1..=MAX_NAMES => Ok(usage),
            other => Err(reader.invalid("next free partition", other as u64, 1)),
        }
    }

    /// Whether there is a row of this number.
    pub(in crate::space) fn has(&self, place: u8) -> bool {
        usize::from(place) < self.rows.len()
    }

    /// A tuple is found to be of that row, which there is.
    pub(in crate::space) fn count(&mut self, place: u8, bytes: u64) {
        let row = &mut self.rows[usize::from(place)];
        row.tuples += 1;
        row.bytes += bytes;
    }
}

impl Row {
    fn save(&self, bytes: &mut Vec<u8>) {
        let Row { name, tuples: _, bytes: _, put, taken, read, asked, filled, put_at, .. } = self;
        let Row { delivered_at, asked_at, shapes, other_shapes, .. } = self;
        bytes.u8(name.is_some().into());
        if let Some(name) = name {
            bytes.counted(name.as_bytes());
        }
        for number in [*put, *taken, *read, *asked, filled.0, *other_shapes] {
            bytes.u64(number);
        }
        for at in [put_at, delivered_at, asked_at] {
            write_optional(at.map(|at| at.0), bytes);
        }
        bytes.u32(u32::try_from(shapes.len()).expect("few shapes"));
        for TemplateShape { actuals, asked } in shapes {
            bytes.u64(*actuals);
            bytes.u64(*asked);
        }
    }

    fn restore(reader: &mut Reader<'_>) -> Result<Row, DecodeError> {
        let mut row = Row::default();
        if reader.flag("whether a partition has a name")? {
            let at = reader.at();
            let name = reader.counted("name of a partition", MAX_PARTITION_NAME_BYTES)?;
            row.name = Some(core::str::from_utf8(name).map_err(|_| DecodeError::NotText { at })?.into());
        }
        (row.put, row.taken, row.read) = (reader.u64()?, reader.u64()?, reader.u64()?);
        (row.asked, row.filled, row.other_shapes) = (reader.u64()?, Time(reader.u64()?), reader.u64()?);
        for at in [&mut row.put_at, &mut row.delivered_at, &mut row.asked_at] {
            *at = read_optional(reader)?.map(Time);
        }
        for _ in 0..reader.length("number of template shapes", MAX_TEMPLATE_SHAPES)? {
            row.shapes.push(TemplateShape { actuals: reader.u64()?, asked: reader.u64()? });
        }
        Ok(row)
    }
}

impl HotKeys {
    pub(in crate::space) fn save(&self, bytes: &mut Vec<u8>) {
        let HotKeys { keys, seen, passes, drawn, next: _ } = self;
        bytes.u64(*seen);
        bytes.u32(*passes);
        bytes.u64(*drawn);
        bytes.u32(u32::try_from(keys.len()).expect("few keys"));
        for Key { count, error, fields } in keys {
            bytes.u64(*count);
            bytes.u64(*error);
            bytes.counted(fields);
        }
    }

    pub(in crate::space) fn restore(reader: &mut Reader<'_>) -> Result<HotKeys, DecodeError> {
        let mut hot = HotKeys { seen: reader.u64()?, ..HotKeys::default() };
        (hot.passes, hot.drawn) = (reader.u32()?, reader.u64()?);
        for _ in 0..reader.length("number of hot keys", PLACES)? {
            let (count, error) = (reader.u64()?, reader.u64()?);
            let fields = reader.counted("hot key", MAX_PAYLOAD_BYTES)?;
            let mut checked = Reader::new(fields);
            read_fields(&mut checked)?;
            checked.finish()?;
            hot.keys.push(Key { count, error, fields: fields.to_vec() });
        }
        Ok(hot)
    }
}
