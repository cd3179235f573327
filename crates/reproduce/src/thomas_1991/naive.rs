//! The naive predictor: UDP, FDDI and a faster server change nothing.
//!
//! It copies what is printed for Ethernet, TCP and 16 MIPS with the same model and application. A simulation that does not
//! predict better than that has explained nothing.

use super::case::{Case, Lan, Transport};
use super::tables::{self, Printed};
use crate::cell::Column;
use std::sync::LazyLock;

static FITTED: LazyLock<Vec<Printed>> =
    LazyLock::new(|| tables::all().into_iter().filter(|printed| printed.case.is_fitted()).collect());

/// What is printed in the row that is fitted, for a row that is not; `None` for one that is.
pub(super) fn copied(case: &Case, column: Column) -> Option<f64> {
    let fitted = Case { lan: Lan::Ethernet, transport: Transport::Tcp, server_mips: 16, ..*case };
    if fitted == *case {
        return None;
    }
    // A row has no column of that name, or one.
    let rows = FITTED.iter().filter(|printed| printed.case == fitted);
    rows.flat_map(|printed| &printed.cells).find(|cell| cell.1.name() == column.name()).map(|cell| cell.2)
}

#[cfg(test)]
mod tests {
    use super::super::case::{Application, Model};
    use super::*;

    #[test]
    fn it_copies_the_printed_row_with_the_same_model_and_application() {
        let application = Application::Realtime { words: 65_024 };
        let case = Case {
            lan: Lan::Fddi,
            server_mips: 32,
            model: Model::Rexec,
            transport: Transport::Tcp,
            application,
        };
        assert_eq!(copied(&case, Column::Utilisation("server_applic")), Some(36.69));
        let udp = Case { lan: Lan::Ethernet, server_mips: 16, transport: Transport::Udp, ..case };
        assert_eq!(copied(&udp, Column::Time("read_time_s")), Some(3.94));
        let fitted = Case { transport: Transport::Tcp, ..udp };
        assert_eq!(copied(&fitted, Column::Time("read_time_s")), None);
    }
}
