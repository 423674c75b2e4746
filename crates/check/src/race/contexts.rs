//! The contexts of the program, and how far they are told apart.

use super::clock::Via;

/// The contexts of the program: the default one is 0, and so is the place of one that was destroyed.
#[derive(Debug, Default)]
pub(super) struct Contexts(Vec<usize>);

impl Contexts {
    pub(super) fn via(&mut self, context: usize) -> Via {
        if context == 0 {
            return Via::DEFAULT;
        }
        let place = |of: usize| self.0.iter().position(|known| *known == of);
        let number = place(context).or_else(|| place(0)).unwrap_or(self.0.len());
        match self.0.get_mut(number) {
            Some(known) => *known = context,
            None => self.0.push(context),
        }
        Via::other(number)
    }

    pub(super) fn forget(&mut self, context: usize) {
        self.0.iter_mut().filter(|known| **known == context).for_each(|known| *known = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_that_come_and_go_take_no_more_room_than_those_that_are_there() {
        let mut contexts = Contexts::default();
        let [first, second] = [3, 5].map(|context| contexts.via(context));
        assert_ne!(first, second);
        for generation in 1..1000 {
            let context = generation << 32 | 7;
            assert_eq!(contexts.via(context), contexts.via(context));
            contexts.forget(context);
        }
        assert_eq!(contexts.0, [3, 5, 0]);
        assert_eq!((contexts.via(0), contexts.via(5)), (Via::DEFAULT, second));
    }
}
