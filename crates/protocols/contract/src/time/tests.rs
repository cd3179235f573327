use super::*;
use core::time::Duration;

#[test]
fn units_are_what_they_are_called() {
    assert_eq!(Span::from_micros(2), Span(2_000));
    assert_eq!(Span::from_millis(3), Span(3_000_000));
    assert_eq!(Span::from_secs(4), Span(4_000_000_000));
    assert_eq!(Span::from_secs(u64::MAX), Span(u64::MAX));
    assert_eq!(Span::from(Duration::from_micros(5)), Span::from_micros(5));
    assert_eq!(Span::from(Duration::MAX), Span(u64::MAX));
    assert_eq!(Duration::from(Span::from_millis(6)), Duration::from_millis(6));
}

#[test]
fn times_and_spans_add_up_and_saturate() {
    let (early, late, span) = (Time(100), Time(170), Span(70));
    assert_eq!((early + span, late - span), (late, early));
    assert_eq!((late.since(early), early.since(late)), (span, Span::ZERO));
    assert_eq!((Time::NEVER + span, Time(69) - span), (Time::NEVER, Time::ZERO));
    let mut time = early;
    time += span;
    assert_eq!(time, late);
}

#[test]
fn a_span_is_shown_in_the_largest_unit_that_fits() {
    for (nanos, text) in [
        (999, "999 ns"),
        (1_000, "1.000 us"),
        (999_999, "999.999 us"),
        (1_500_000, "1.500 ms"),
        (2_000_000_000, "2.000 s"),
    ] {
        assert_eq!((Span(nanos).to_string(), Time(nanos).to_string()), (text.into(), text.into()));
    }
}
