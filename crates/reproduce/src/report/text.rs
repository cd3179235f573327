//! A report for a terminal.

use super::{PARAMETER_COLUMNS, Report, difference, digits, naive, ours, parameter, reason, verdict};
use crate::cell::Cell;
use core::fmt;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heading = ("column", "published", "ours", "difference", "naive");
        let (name, published, ours, difference, naive) = heading;
        writeln!(
            f,
            "  {name:28} {published:>9} {ours:>9} {difference:>14}  {naive:>9}  row       verdict    reason"
        )?;
        let mut heading = (String::new(), "");
        for cell in &self.cells {
            if heading != (cell.row.clone(), cell.table) {
                heading = (cell.row.clone(), cell.table);
                writeln!(f, "\ntable {}: {}", cell.table, cell.row)?;
            }
            write_cell(f, cell)?;
        }
        writeln!(f)?;
        for line in self.counts() {
            writeln!(f, "{line}")?;
        }
        let (aside, measured) = self.set_aside();
        writeln!(
            f,
            "set aside: {aside} cells, {measured} of them measured and not simulated, which count nowhere"
        )?;
        writeln!(f, "means of {} seeds, digest {:016x}", self.seeds, self.digest)?;
        self.write_parameters(f)?;
        self.starts().iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Report {
    fn write_parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parameters.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{}", PARAMETER_COLUMNS.join("; "))?;
        for found in &self.parameters {
            let [name, value, cells, less, more, less_error, more_error] = parameter(found);
            writeln!(
                f,
                "  {name:20} {value:>32} {cells:>4}  {less:>9} {more:>9}  {less_error:>14} {more_error:>14}  {}",
                found.source
            )?;
        }
        Ok(())
    }
}

fn write_cell(f: &mut fmt::Formatter<'_>, cell: &Cell) -> fmt::Result {
    let published = digits(cell.published, cell.published);
    let (name, ours, difference) = (cell.column.name(), ours(cell), difference(cell));
    let (naive, role, verdict) = (naive(cell), cell.role.name(), verdict(cell));
    let line = format!(
        "  {name:28} {published:>9} {ours:>9} {difference:>14}  {naive:>9}  {role:9} {verdict:9}  {}",
        reason(cell)
    );
    writeln!(f, "{}", line.trim_end())
}
