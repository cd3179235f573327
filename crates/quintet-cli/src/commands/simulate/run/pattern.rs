//! Which quantities are asked for.

/// A name, or several: `*` stands for any letters, dots among them, `?` for one. The kind in front may be left out:
/// `server.*` is what `processor.server.*` is, and what there is else of that name.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(String);

impl Pattern {
    pub(super) fn new(text: &str) -> Pattern {
        Pattern(text.to_owned())
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Whether it stands for itself only.
    pub(super) fn is_name(&self) -> bool {
        !self.0.contains(['*', '?'])
    }

    pub(super) fn matches(&self, quantity: &str) -> bool {
        let without_kind = quantity.split_once('.').map(|(_, rest)| rest);
        [Some(quantity), without_kind]
            .into_iter()
            .flatten()
            .any(|name| fits(self.0.as_bytes(), name.as_bytes()))
    }
}

/// Goes on behind the last `*` with one letter more in it whenever the rest does not fit: never more than all pairs of letters.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut here) = (0, 0);
    let mut star = None;
    while here < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, here));
                at += 1;
            }
            Some(letter) if *letter == b'?' || *letter == name[here] => (at, here) = (at + 1, here + 1),
            _ => {
                let Some((before, from)) = star else { return false };
                star = Some((before, from + 1));
                (at, here) = (before + 1, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_letters() {
        for (pattern, name, expected) in [
            ("module.serve.waiting", "module.serve.waiting", true),
            ("module.serve.waiting", "module.serve.waitings", false),
            ("serve.waiting", "module.serve.waiting", true),
            ("waiting", "module.serve.waiting", false),
            ("server.*.utilisation", "processor.server.a.utilisation", true),
            ("server-*.utilisation", "processor.server-12.utilisation", true),
            ("server-?.utilisation", "processor.server-12.utilisation", false),
            ("*.utilisation", "device.cable.utilisation", true),
            ("*a*b*", "aab", true),
            ("*a*b", "aabc", false),
            ("*", "measure.stay", true),
            ("", "measure.stay", false),
            ("measure.*", "measure.stay.p99", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern}, {name}");
        }
        assert!(!Pattern::new(&"*a".repeat(500)).matches(&"ab".repeat(400)), "and that soon");
    }
}
