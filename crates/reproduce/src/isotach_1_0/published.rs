//! What is printed.

use crate::table::{Row, rows};

/// Of which of the two that the study measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Measured {
    /// Its prototype.
    Isotach,
    /// Fast Messages, on which that stands.
    Fm,
}

/// A printed value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Published {
    pub(super) quantity: &'static str,
    pub(super) packet: usize,
    pub(super) of: Measured,
    pub(super) value: f64,
}

fn read(row: Row<'static>) -> impl Iterator<Item = Published> {
    let column = |name: &'static str, of: Measured| {
        let is_there = !row.text(name).is_empty();
        let packet = row.whole("packet_bytes") as usize;
        is_there.then(|| Published { quantity: row.text("quantity"), packet, of, value: row.number(name) })
    };
    [column("isotach", Measured::Isotach), column("fast_messages", Measured::Fm)].into_iter().flatten()
}

/// Whether a value says no more than that it is what others are compared with: FM's is one FM's.
fn is_unit(one: &Published) -> bool {
    one.of == Measured::Fm && matches!(one.quantity, "latency_ratio_to_fm" | "bandwidth_fraction_of_fm")
}

/// All, in the order of the table.
pub(super) fn all() -> Vec<Published> {
    let printed = rows(include_str!("../../published/isotach.csv")).into_iter().flat_map(read);
    printed.filter(|one| !is_unit(one)).collect()
}

/// The printed value of a quantity for packets of so many bytes, if there is one.
pub(super) fn value(quantity: &str, packet: usize, of: Measured) -> Option<f64> {
    let is_it = |one: &Published| (one.quantity, one.packet, one.of) == (quantity, packet, of);
    all().into_iter().find(is_it).map(|one| one.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_by_names() {
        assert_eq!(value("round_trip_1_switch", 64, Measured::Isotach), Some(99.1));
        assert_eq!(value("round_trip_1_switch", 1024, Measured::Fm), None);
        assert_eq!(value("fm_bandwidth_loss_from_tokens", 64, Measured::Fm), Some(25.0));
        assert_eq!(all().len(), 34);
    }
}
