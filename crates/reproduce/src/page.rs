//! What all pages have: their beginning, their style, and their end.

/// The beginning of a page with that title, which stands by itself, in the browser's light or dark colours.
pub(crate) fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"color-scheme\" content=\"light dark\"><style>\
         body{{font-family:sans-serif;margin:2em}}table{{border-collapse:collapse}}td,th{{padding:.2em .6em;border-bottom:1px solid #8888;\
         text-align:left}}td.n{{text-align:right;font-variant-numeric:tabular-nums}}</style></head><body>\n"
    )
}

/// The end.
pub(crate) const END: &str = "</body></html>\n";

/// Text as HTML wants it.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
