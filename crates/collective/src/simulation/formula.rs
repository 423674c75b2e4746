//! The formulas of `docs/scaling.md`: whole numbers, variables, `+ - · /`, parentheses, `min(…)` and `max(…)`.

use std::iter::Peekable;
use std::str::Chars;

/// Values of the variables of a formula.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<i64>;

struct Parser<'a> {
    text: Peekable<Chars<'a>>,
    variables: Variables<'a>,
}

/// The value of a formula; None if it is none.
pub(crate) fn value(formula: &str, variables: Variables<'_>) -> Option<i64> {
    let mut parser = Parser { text: formula.chars().peekable(), variables };
    let value = parser.sum()?;
    parser.next().is_none().then_some(value)
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        while self.text.next_if(|c| c.is_whitespace()).is_some() {}
        self.text.peek().copied()
    }

    fn next(&mut self) -> Option<char> {
        self.peek()?;
        self.text.next()
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            self.next();
            let term = self.product()?;
            value += if sign == '+' { term } else { -term };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.factor()?;
        while let Some(sign @ ('·' | '/')) = self.peek() {
            self.next();
            let factor = self.factor()?;
            value = match sign {
                '·' => value * factor,
                _ => value / factor,
            };
        }
        Some(value)
    }

    fn word(&mut self) -> String {
        self.peek();
        let mut word = String::new();
        while let Some(c) = self.text.next_if(char::is_ascii_alphanumeric) {
            word.push(c);
        }
        word
    }

    fn factor(&mut self) -> Option<i64> {
        if self.peek()? == '(' {
            self.next();
            let value = self.sum()?;
            return (self.next()? == ')').then_some(value);
        }
        let word = self.word();
        if let Ok(number) = word.parse() {
            return Some(number);
        }
        if self.peek() != Some('(') {
            return (self.variables)(&word);
        }
        self.next();
        let first = self.sum()?;
        (self.next()? == ',').then_some(())?;
        let second = self.sum()?;
        (self.next()? == ')').then_some(())?;
        match word.as_str() {
            "min" => Some(first.min(second)),
            "max" => Some(first.max(second)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_have_values() {
        let of = |formula| value(formula, &|name| (name == "p").then_some(8));
        assert_eq!(of("2·(p - 1) + p/4"), Some(16));
        assert_eq!(of("max(p, 3) - min(p,3)"), Some(5));
        assert_eq!(of("p - 1 - 2"), Some(5));
        for wrong in ["", "?", "q", "2 p", "(p", "max(p)"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
