//! Tables of `published/`: comments, a line of names, a row a line.

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    names: &'a str,
    values: &'a str,
}

impl<'a> Row<'a> {
    /// The value in the column of that name.
    ///
    /// # Panics
    /// If the table, which is part of this program, has no such column.
    pub(crate) fn text(&self, name: &str) -> &'a str {
        let index = self.names.split(',').position(|candidate| candidate == name);
        let value = index.and_then(|index| self.values.split(',').nth(index));
        value.unwrap_or_else(|| panic!("no column {name} in {}", self.values))
    }

    /// The number in the column of that name.
    ///
    /// # Panics
    /// If it is not one.
    pub(crate) fn number(&self, name: &str) -> f64 {
        let text = self.text(name);
        text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}"))
    }

    /// The whole number in the column of that name.
    ///
    /// # Panics
    /// If it is not one.
    pub(crate) fn whole(&self, name: &str) -> u32 {
        let text = self.text(name);
        text.parse().unwrap_or_else(|_| panic!("{name} is no whole number: {text}"))
    }
}

/// The rows of a table.
pub(crate) fn rows(text: &str) -> Vec<Row<'_>> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let names = lines.next().unwrap_or_default();
    lines.map(|values| Row { names, values }).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn comments_are_skipped_and_columns_found_by_name() {
        let rows = super::rows("# about\na,b\n1,x\n2.5,y\n");
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].whole("a"), rows[1].number("a"), rows[1].text("b")), (1, 2.5, "y"));
    }
}
