//! One printed value and ours.

/// What a value is, which decides how far ours may be from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// A time or a throughput: within 10 percent.
    Time(&'static str),
    /// A utilisation in percent: within one point or 15 percent, whichever is more.
    Utilisation(&'static str),
    /// A share in percent that was measured: within three points, by which the paper's two measurements of the same processes differ
    /// (figures 5.5 and 5.6 of Christian 1997).
    Share(&'static str),
}

impl Column {
    /// The name of the column in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Column::Time(name) | Column::Utilisation(name) | Column::Share(name) => name,
        }
    }

    /// How far ours may be from `published`.
    #[must_use]
    pub fn tolerance(self, published: f64) -> f64 {
        match self {
            Column::Time(_) => 0.1 * published,
            Column::Utilisation(_) => (0.15 * published).max(1.0),
            Column::Share(_) => 3.0,
        }
    }
}

/// What the row of a cell says about the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Parameters that are not given were inferred from it.
    Fitted,
    /// Nothing was inferred from it.
    Predicted,
}

impl Role {
    /// Both, in the order of reports.
    pub const ALL: [Role; 2] = [Role::Fitted, Role::Predicted];

    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Role::Fitted => "fitted",
            Role::Predicted => "predicted",
        }
    }
}

/// One printed value and ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// The table's number.
    pub table: &'static str,
    /// The row: what distinguishes it, in words.
    pub row: String,
    /// What the value is.
    pub column: Column,
    /// What is printed.
    pub published: f64,
    /// What the simulation gives; `None` for what was measured on the machines of then.
    pub ours: Option<f64>,
    /// What the naive predictor gives, which copies a fitted row; `None` in these.
    pub naive: Option<f64>,
    /// What its row says about the model.
    pub role: Role,
    /// Why it is not compared: what is printed contradicts it, or it is no result of a simulation. Decided before fitting.
    pub set_aside: Option<&'static str>,
    /// Why it is missed, if that is known.
    pub miss: Option<&'static str>,
}

impl Cell {
    /// Ours less the printed one, as a share of the printed one; for utilisations in points.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        let ours = self.ours?;
        Some(match self.column {
            Column::Time(_) => (ours - self.published) / self.published,
            Column::Utilisation(_) | Column::Share(_) => ours - self.published,
        })
    }

    /// Whether ours is close enough; `None` if it is not compared.
    #[must_use]
    pub fn within(&self) -> Option<bool> {
        Some(self.off(self.ours.filter(|_| self.set_aside.is_none())?).abs() <= 1.0)
    }

    /// The same of the naive predictor.
    #[must_use]
    pub fn naive_within(&self) -> Option<bool> {
        Some(self.off(self.naive.filter(|_| self.set_aside.is_none())?).abs() <= 1.0)
    }

    /// How far a value is from the printed one, in tolerances.
    pub(crate) fn off(&self, value: f64) -> f64 {
        (value - self.published) / self.column.tolerance(self.published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(column: Column, published: f64, ours: f64) -> Cell {
        Cell {
            table: "",
            row: String::new(),
            column,
            published,
            ours: Some(ours),
            naive: Some(published),
            role: Role::Fitted,
            set_aside: None,
            miss: None,
        }
    }

    #[test]
    fn tolerances_are_those_of_the_study() {
        let time = |ours| cell(Column::Time(""), 2.0, ours).within();
        assert_eq!((time(2.19), time(2.21), time(1.79)), (Some(true), Some(false), Some(false)));
        let small = |ours| cell(Column::Utilisation(""), 2.0, ours).within();
        assert_eq!((small(2.9), small(3.1)), (Some(true), Some(false)));
        let large = |ours| cell(Column::Utilisation(""), 40.0, ours).within();
        assert_eq!((large(45.9), large(46.1)), (Some(true), Some(false)));
    }

    #[test]
    fn what_is_set_aside_is_not_compared() {
        let aside = Cell { set_aside: Some("it was measured"), ..cell(Column::Time(""), 1.0, 1.0) };
        assert_eq!((aside.within(), aside.naive_within()), (None, None));
    }
}
