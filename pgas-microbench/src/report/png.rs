//! Pictures as PNG, for viewers without SVG.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query, Style};
use resvg::usvg::{Options, Tree};

/// Pixels for each unit of a drawing, whose units are small.
const SCALE: f32 = 0.65;

/// Makes PNGs with the fonts of this system.
pub(super) struct Painter {
    options: Options<'static>,
}

impl Painter {
    /// Loads the fonts.
    ///
    /// # Errors
    /// If there are none: pictures would have no text.
    pub(super) fn new() -> Result<Self> {
        let mut fonts = Database::new();
        fonts.load_system_fonts();
        ensure!(!fonts.is_empty(), "no fonts found on this system");
        choose_sans_serif(&mut fonts);
        let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
        Ok(Self { options })
    }

    /// The picture of an SVG, scaled down.
    ///
    /// # Errors
    /// If it is no SVG, or too large.
    pub(super) fn png(&self, svg: &str) -> Result<Vec<u8>> {
        let tree = Tree::from_str(svg, &self.options)?;
        let size = tree.size().to_int_size().scale_by(SCALE).context("picture too small")?;
        let mut pixels = Pixmap::new(size.width(), size.height()).context("picture too large")?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        Ok(pixels.encode_png()?)
    }
}

/// Chooses any upright font if the system does not name its sans serif font.
fn choose_sans_serif(fonts: &mut Database) {
    let query = Query { families: &[Family::SansSerif], ..Query::default() };
    if fonts.query(&query).is_some() {
        return;
    }
    let upright = |face: &&resvg::usvg::fontdb::FaceInfo| face.style == Style::Normal;
    let named = |sans: bool| {
        let face = fonts.faces().filter(upright).find(|face| {
            let name = face.families.first().map(|family| family.0.as_str());
            name.is_some_and(|name| !sans || (name.contains("Sans") && !face.monospaced))
        })?;
        Some(face.families.first()?.0.clone())
    };
    if let Some(name) = named(true).or_else(|| named(false)) {
        fonts.set_sans_serif_family(name);
    }
}
