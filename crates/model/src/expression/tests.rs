use super::*;

fn parameters() -> BTreeMap<String, f64> {
    [("buffer_bytes", 10_000.0), ("n", 3.0)].map(|(name, value)| (name.to_owned(), value)).into()
}

fn value(text: &str, dimension: Dimension) -> f64 {
    let found = evaluate(text, &parameters()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(found.dimension, dimension, "{text}");
    found.value
}

#[test]
fn expressions_follow_the_rules_of_arithmetic() {
    for (text, expected) in [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("8 / 4 / 2", 1.0),
        ("8 - 4 - 2", 2.0),
        ("-n + - -1", -2.0),
        ("ceil(buffer_bytes / 4096)", 3.0),
        ("floor(2.5) + min(3, n, 2) + max(1, 5)", 9.0),
        ("1_000 * 1.5e-3", 1.5),
    ] {
        assert_eq!(value(text, Dimension::NUMBER), expected, "{text}");
    }
}

#[test]
fn units_are_computed_with() {
    assert!((value("1.5 ms + 3 us", Dimension::TIME) - 1.503e-3).abs() < 1e-15);
    assert_eq!(value("buffer_bytes * 8 B", Dimension::DATA), 80_000.0);
    assert_eq!(value("(n + 1) kB", Dimension::DATA), 4_000.0);
    assert_eq!(value("10 Mb/s", Dimension::DATA_RATE), 1_250_000.0);
    assert_eq!(value("1250 B / 10 Mb/s", Dimension::TIME), 1e-3);
    assert_eq!(value("1 / 100 Hz", Dimension::TIME), 0.01);
    assert_eq!(value("n cycles", Dimension::CYCLES), 3.0);
}

#[test]
fn errors_say_where_and_what() {
    for (text, at, part) in [
        ("", 1, "the text ends"),
        ("1 +", 4, "the text ends"),
        ("2 * bufer_bytes", 5, "did you mean buffer_bytes?"),
        ("1 ms + 2 B", 6, "a time and an amount of data"),
        ("1 ms ms", 6, "found ms"),
        ("(1 ms) s", 8, "has a unit"),
        ("1 / 0", 1, "no finite number"),
        ("ceil(1, 2)", 1, "ceil takes 1, found 2"),
        ("(1, 2)", 1, "takes 1, found 2"),
        ("(1", 3, "a closing parenthesis"),
        ("1.2.3", 1, "1.2.3"),
        ("3 $", 3, "$"),
        ("1 2", 3, "an operator or the end"),
    ] {
        let error = evaluate(text, &parameters()).expect_err(text);
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

#[test]
fn length_and_depth_are_bounded() {
    let deep = format!("{}1{}", "(".repeat(51), ")".repeat(51));
    assert!(matches!(
        evaluate(&deep, &parameters()),
        Err(ExpressionError { fault: Fault::TooDeep { .. }, .. })
    ));
    let long = "1+".repeat(600);
    assert!(matches!(
        evaluate(&long, &parameters()),
        Err(ExpressionError { fault: Fault::TooLong { .. }, .. })
    ));
    let minus = format!("{}1", "-".repeat(900));
    assert_eq!(evaluate(&minus, &parameters()).map(|found| found.value), Ok(1.0));
}
