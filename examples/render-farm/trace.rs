//! From the scene to pixels.

use crate::geometry::{Ray, Vec3};
use crate::scene::{Hit, LAMP, Scene};

/// Red, green, blue.
pub(crate) type Pixel = [u8; 3];

/// What is rendered, and how well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Rays through each pixel, and to the lamp from each point that they meet, in each of two directions.
    pub(crate) samples: usize,
}

/// Most reflections and refractions of a ray.
const DEPTH: u32 = 7;

/// Numbers that look random, and depend on the pixel alone: each PE computes the same picture.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Renders pixels of one scene.
pub(crate) struct Tracer {
    scene: Scene,
    view: View,
    eye: Vec3,
    /// The directions of the picture's middle, and of half its width and height.
    forward: Vec3,
    right: Vec3,
    up: Vec3,
}

impl Tracer {
    pub(crate) fn new(view: View) -> Self {
        /// Half the height of the picture at a distance of 1.
        const OPENING: f64 = 0.42;

        let (eye, target) = (Vec3(-5.2, 4.6, -8.4), Vec3(0.1, 0.1, -0.6));
        let forward = (target - eye).unit();
        let right = Vec3(0.0, 1.0, 0.0).cross(forward).unit();
        let up = forward.cross(right);
        let aspect = view.width as f64 / view.height as f64;
        Self { scene: Scene::chess(), view, eye, forward, right: right * (OPENING * aspect), up: up * OPENING }
    }

    pub(crate) fn pixel(&self, column: usize, row: usize) -> Pixel {
        let View { width, height, samples } = self.view;
        let mut random = Random((row * width + column) as u64);
        let mut light = Vec3::ZERO;
        for i in 0..samples * samples {
            let within = |cell: usize, random: &mut Random| (cell as f64 + random.next()) / samples as f64;
            let x = column as f64 + within(i % samples, &mut random);
            let y = row as f64 + within(i / samples, &mut random);
            let direction =
                self.forward + self.right * (2.0 * x / width as f64 - 1.0) + self.up * (1.0 - 2.0 * y / height as f64);
            let ray = Ray { origin: self.eye, direction: direction.unit() };
            light = light + self.light(&ray, DEPTH, &mut random);
        }
        let light = light * (1.0 / (samples * samples) as f64);
        // Screens show the square of what they are given, more or less.
        [light.0, light.1, light.2].map(|part| (part.clamp(0.0, 1.0).sqrt() * 255.0).round() as u8)
    }

    /// The light that comes back along a ray.
    fn light(&self, ray: &Ray, depth: u32, random: &mut Random) -> Vec3 {
        let Some(hit) = self.scene.meet(ray) else {
            return Scene::sky(ray.direction);
        };
        if let Some(slower) = hit.material.glass {
            return self.through_glass(ray, &hit, slower, depth, random);
        }
        let own = hit.material.colour.tinted(self.shining_on(&hit, random));
        let mirror = hit.material.mirror;
        if mirror == 0.0 || depth == 0 {
            return own;
        }
        let reflected = self.light(&leaving(&hit, ray.direction.reflected(hit.normal)), depth - 1, random);
        own * (1.0 - mirror) + reflected * mirror
    }

    fn through_glass(&self, ray: &Ray, hit: &Hit, slower: f64, depth: u32, random: &mut Random) -> Vec3 {
        if depth == 0 {
            return Scene::sky(ray.direction);
        }
        let enters = ray.direction.dot(hit.normal) < 0.0;
        let (normal, ratio) = match enters {
            true => (hit.normal, 1.0 / slower),
            false => (-hit.normal, slower),
        };
        let reflected = leaving(hit, ray.direction.reflected(normal));
        let Some(direction) = ray.direction.refracted(normal, ratio) else {
            return self.light(&reflected, depth - 1, random);
        };
        // Schlick's approximation of what is reflected.
        let least = ((1.0 - slower) / (1.0 + slower)).powi(2);
        let cosine = if enters { -ray.direction.dot(normal) } else { -direction.dot(normal) };
        let part = least + (1.0 - least) * (1.0 - cosine).powi(5);
        let within = self.light(&leaving(hit, direction), depth - 1, random);
        let mut light = within.tinted(hit.material.colour) * (1.0 - part);
        // Reflections within reflections are hardly seen.
        if enters || part > 0.2 {
            light = light + self.light(&reflected, depth - 1, random) * part;
        }
        light
    }

    /// The light that falls on a point: of the lamp, of which parts may be hidden, and of the sky.
    fn shining_on(&self, hit: &Hit, random: &mut Random) -> Vec3 {
        const LAMP_LIGHT: Vec3 = Vec3(1.25, 1.18, 1.05);
        const SKY_LIGHT: Vec3 = Vec3(0.16, 0.18, 0.22);

        let rays = self.view.samples * self.view.samples;
        let mut sum = 0.0;
        for _ in 0..rays {
            // A point of the lamp's surface.
            let height = 2.0 * random.next() - 1.0;
            let angle = std::f64::consts::TAU * random.next();
            let across = (1.0 - height * height).sqrt();
            let (sine, cosine) = angle.sin_cos();
            let point = LAMP.centre + Vec3(across * cosine, height, across * sine) * LAMP.radius;
            let to_lamp = point - hit.at;
            let length = to_lamp.dot(to_lamp).sqrt();
            let ray = leaving(hit, to_lamp * (1.0 / length));
            let facing = ray.direction.dot(hit.normal);
            if facing > 0.0 {
                sum += facing * self.scene.light_along(&ray, length);
            }
        }
        LAMP_LIGHT * (sum / rays as f64) + SKY_LIGHT
    }
}

fn leaving(hit: &Hit, direction: Vec3) -> Ray {
    Ray { origin: hit.at, direction }
}
