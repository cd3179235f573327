//! A report for a terminal.

use super::{Report, difference, digits, ours, verdict};
use crate::cell::{Cell, Role};
use core::fmt;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut heading = (String::new(), "");
        for cell in &self.cells {
            if heading != (cell.row.clone(), cell.table) {
                heading = (cell.row.clone(), cell.table);
                writeln!(f, "\ntable {}: {}", cell.table, cell.row)?;
            }
            write_cell(f, cell)?;
        }
        writeln!(f)?;
        for role in [Role::Fitted, Role::Predicted] {
            let count = self.count(role);
            writeln!(
                f,
                "{}: {} of {} cells within ({:.0}%)",
                role.name(),
                count.within,
                count.of,
                count.percent()
            )?;
        }
        let aside = self.cells.iter().filter(|cell| cell.role == Role::SetAside).count();
        writeln!(f, "set aside: {aside} cells")?;
        writeln!(f, "means of {} seeds, digest {:016x}", self.seeds, self.digest)
    }
}

fn write_cell(f: &mut fmt::Formatter<'_>, cell: &Cell) -> fmt::Result {
    let published = digits(cell.published, cell.published);
    let (name, ours, difference) = (cell.column.name(), ours(cell), difference(cell));
    write!(
        f,
        "  {name:28} {published:>9} {ours:>9} {difference:>14}  {:9} {:9}",
        cell.role.name(),
        verdict(cell)
    )?;
    match cell.reason {
        Some(reason) => writeln!(f, "  {reason}"),
        None => writeln!(f),
    }
}
