//! What somebody who mistyped a name may have meant.

/// The name that differs least, if it differs in less than half of its letters.
pub(crate) fn nearest<'a>(name: &str, among: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// No name is longer; what is compared with longer ones costs too much.
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    let short = among.into_iter().filter(|candidate| candidate.len() <= LONGEST);
    let (differences, candidate) = short.map(|candidate| (distance(name, candidate), candidate)).min()?;
    (differences * 2 < candidate.len().max(2)).then(|| candidate.to_owned())
}

/// Letters to insert, delete or replace to turn one text into the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_keyboard_are_recognised_and_other_words_are_not() {
        let names = ["time_slice", "cycle", "rate"];
        assert_eq!(nearest("timeslice", names).as_deref(), Some("time_slice"));
        assert_eq!(nearest("cycel", names).as_deref(), Some("cycle"));
        assert_eq!(nearest("banana", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
