//! What somebody who mistyped a name may have meant.

/// The name that differs least, if it differs in less than half of its letters.
#[must_use]
pub fn nearest<'a>(name: &str, among: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// No name is longer; what is compared with longer ones costs too much.
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    let short = among.into_iter().filter(|candidate| candidate.len() <= LONGEST);
    let (differences, candidate) = short.map(|candidate| (distance(name, candidate), candidate)).min()?;
    (differences * 2 < candidate.len().max(2)).then(|| candidate.to_owned())
}

/// Letters to insert, delete, replace or swap with their neighbour to turn one text into the other (optimal string
/// alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_keyboard_are_recognised_and_other_words_are_not() {
        let names = ["time_slice", "cycle", "rate"];
        assert_eq!(nearest("timeslice", names).as_deref(), Some("time_slice"));
        assert_eq!(nearest("cycel", names).as_deref(), Some("cycle"));
        assert_eq!(distance("tow", "two"), 1);
        assert_eq!(distance("", "two"), 3);
        assert_eq!(nearest("banana", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
