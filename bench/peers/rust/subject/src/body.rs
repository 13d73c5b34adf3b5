//! The body of the service: two fields that the handler gets, and filler.

use std::fmt::Write;

const FIELD: &str = "{\"id\":";

/// A body of exactly size bytes: an id of ten digits, a quantity, and filler fields of digits.
pub fn body(id: u64, size: usize) -> Result<Vec<u8>, String> {
    let mut text = format!("{FIELD}{id},\"quantity\":37");
    let mut field = 0;
    // The last field takes what is left. Its name and quotes take 8 bytes, and the end of the object one.
    loop {
        let left = size
            .checked_sub(text.len() + 1)
            .ok_or(format!("a body of {size} bytes is too small"))?;
        match left {
            0 => break,
            1..8 => return Err(format!("a body of {size} bytes cannot be filled")),
            _ => {}
        }
        let digits = if left < 40 { left - 8 } else { 16 };
        write!(text, ",\"f{field}\":\"{}\"", "0".repeat(digits)).map_err(|e| e.to_string())?;
        field += 1;
        if field > 9 {
            return Err(format!("a body of {size} bytes is too large"));
        }
    }
    text.push('}');
    Ok(text.into_bytes())
}

/// Overwrites the id of a body with another of ten digits.
pub fn number(body: &mut [u8], id: u64) {
    let mut rest = id;
    for digit in body[FIELD.len()..FIELD.len() + 10].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_as_long_as_it_is_asked_for() {
        for size in [64, 100, 128] {
            let body = body(1_000_000_000, size).unwrap();
            assert_eq!(body.len(), size, "{}", String::from_utf8_lossy(&body));
        }
        assert!(body(1_000_000_000, 20).is_err());
    }

    #[test]
    fn a_number_replaces_the_id_alone() {
        let mut text = body(1_000_000_000, 128).unwrap();
        number(&mut text, 1_234_567_890);
        assert_eq!(text, body(1_234_567_890, 128).unwrap());
    }
}
