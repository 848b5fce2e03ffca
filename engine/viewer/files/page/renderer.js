// The renderer: shadow maps, background, ground, surfaces, with the shaders of the engine's window.

const SHADOW = 1024, SKY = 192;                           // texels along the side of the key light's map, and of the one from above
const VEIL = 0.3;                                         // how much the ground hides from below
const ROWS = 256, ROW = 20;                               // instances side by side in the rows' texture; floats of each

class Renderer {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    this.software = software();
    const gl = this.gl = canvas.getContext("webgl2", {antialias: !this.software, alpha: false});
    if (!gl) throw new Error("This page draws with WebGL 2, which this browser does not offer here; expected a current browser with it switched on.");
    gl.getExtension("EXT_color_buffer_float");
    const sized = {SHADOW_SIZE: `${SHADOW}.0`}, surface = ["rows.vert", "surface.vert"], lit = ["light.frag", "surface.frag"];
    const ground = ["light.frag", "ground.frag"];
    this.surface = this.program(surface, lit, sized);
    this.textured = this.program(surface, lit, {...sized, TEXTURED: 1});
    this.depth = this.program(["rows.vert", "depth.vert"], ["depth.frag"]);
    this.moments = this.program(["rows.vert", "depth.vert"], ["moments.frag"]);
    this.blur = this.program(["screen.vert"], ["blur.frag"]);
    this.sky = this.program(["screen.vert"], ["sky.frag"]);
    this.ground = this.program(["corner.vert", "ground.vert"], ground, sized);
    this.shaded_ground = this.program(["corner.vert", "ground.vert"], ground, {...sized, SHADOWED: 1});
    if (scene.marks) this.open_marks(lit);
    this.shadow_map = this.shadow_target();
    this.sky_map = this.moment_target(true);
    this.sky_blurred = this.moment_target(false);
    this.spheres = [];                                    // that the two maps are about, in the world
    this.latest = 0;                                      // of the two, which was drawn last
    this.empty = gl.createVertexArray();
    if (scene.environment === "space") this.open_space();
    this.rows = this.texture(gl.NEAREST, gl.CLAMP_TO_EDGE);
    this.shelf = scene.surfaces.map(s => this.shelved(s));
    this.coarse = scene.surfaces.map((s, k) => s.coarse ? this.shelved(s.coarse) : this.shelf[k]);
    this.images = scene.images.map(image => {
      const texture = this.texture(gl.LINEAR_MIPMAP_LINEAR, gl.REPEAT);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, image);
      gl.generateMipmap(gl.TEXTURE_2D);
      return texture;
    });
  }

  // ---------------------------------------------------------------- OpenGL's objects

  program(vertex, fragment, defines = {}) {
    const gl = this.gl, program = gl.createProgram();
    const head = "#version 300 es\nprecision highp float;\nprecision highp int;\n"
      + Object.entries(defines).map(([name, value]) => `#define ${name} ${value}\n`).join("");
    for (const [kind, names] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, head + names.map(name => this.scene.shaders[name]).join("\n"));
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost())
        throw new Error(`The shader ${names.join(" + ")} does not compile here: ${gl.getShaderInfoLog(shader)}`);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
      throw new Error(`The shaders ${vertex.join(" + ")} and ${fragment.join(" + ")} do not link here: ${gl.getProgramInfoLog(program)}`);
    const places = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const {name, type} = gl.getActiveUniform(program, i);
      places[name] = {at: gl.getUniformLocation(program, name), type};
    }
    return {program, places};
  }

  use({program, places}, values) {
    const gl = this.gl;
    gl.useProgram(program);
    for (const [name, value] of Object.entries(values)) {
      const place = places[name];
      if (!place) continue;                               // the shader has no use for it
      if (place.type === gl.FLOAT_MAT4) gl.uniformMatrix4fv(place.at, false, value);
      else if (place.type === gl.FLOAT) gl.uniform1f(place.at, value);
      else if (Array.isArray(value)) gl[`uniform${value.length}fv`](place.at, value);
      else gl.uniform1i(place.at, value);
    }
  }

  texture(smaller, wrap) {
    const gl = this.gl, texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, smaller);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, smaller === gl.NEAREST ? gl.NEAREST : gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, wrap);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, wrap);
    return texture;
  }

  shadow_target() {
    const gl = this.gl, texture = this.texture(gl.LINEAR, gl.CLAMP_TO_EDGE);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT16, SHADOW, SHADOW);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL);
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
    gl.drawBuffers([gl.NONE]);
    gl.readBuffer(gl.NONE);
    return {frame, texture, size: SHADOW};
  }

  // Mean and mean square of the depth from above; where the browser cannot draw into such a texture, all of the sky is seen.
  moment_target(with_depth) {
    const gl = this.gl, smooth = gl.getExtension("OES_texture_float_linear");
    const texture = this.texture(gl.LINEAR, gl.CLAMP_TO_EDGE);
    gl.texStorage2D(gl.TEXTURE_2D, 1, smooth ? gl.RG32F : gl.RG16F, SKY, SKY);
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    if (with_depth) {
      const depth = gl.createRenderbuffer();
      gl.bindRenderbuffer(gl.RENDERBUFFER, depth);
      gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT24, SKY, SKY);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, depth);
    }
    if (gl.checkFramebufferStatus(gl.FRAMEBUFFER) === gl.FRAMEBUFFER_COMPLETE) return {frame, texture, size: SKY};
    const white = this.texture(gl.NEAREST, gl.CLAMP_TO_EDGE);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 1, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array([255, 255, 255, 255]));
    return {frame: null, texture: white, size: SKY};
  }

  shelved(surface) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const attribute = (place, data, size, type, normalized, stride) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, type, normalized, stride, 0);
    };
    attribute(0, surface.positions, 3, gl.UNSIGNED_SHORT, true, 8);
    attribute(1, surface.normals, 4, gl.INT_2_10_10_10_REV, true, 0);
    if (surface.colors) attribute(2, surface.colors, 4, gl.UNSIGNED_BYTE, true, 0);
    if (surface.uv) attribute(3, surface.uv, 2, gl.FLOAT, false, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, surface.faces, gl.STATIC_DRAW);
    return {array, count: surface.faces.length, type: surface.faces.BYTES_PER_ELEMENT === 2 ? gl.UNSIGNED_SHORT : gl.UNSIGNED_INT};
  }

  // ---------------------------------------------------------------- a picture

  // Quickly: with coarse surfaces, and only one of the maps anew.
  draw(camera, drawing, quickly = false) {
    const {gl, canvas, scene} = this, aspect = canvas.width / canvas.height, shelf = quickly ? this.coarse : this.shelf;
    const light = scene.sky ? scene.sky.light(drawing.globe, drawing.bounds.middle, scene.light) : scene.light;
    const [key_map, sky_map] = this.shadows(light, drawing, quickly);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.disable(gl.BLEND);
    gl.disable(gl.DEPTH_TEST);
    gl.bindVertexArray(this.empty);
    if (scene.environment === "space") this.space(camera, light, aspect, drawing.globe);
    else {
      this.use(this.sky, {rays: camera.rays(aspect), horizon: light.horizon, zenith: light.zenith});
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
    const shade = {
      ...light, eye: camera.eye, shadow_matrix: key_map, sky_matrix: sky_map, shadow_map: 1, sky_map: 2, rows: 0, image: 3,
      shadow_texel: 2 * drawing.bounds.radius / SHADOW, matrix: camera.matrix(aspect),
    };
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow_map.texture);
    gl.activeTexture(gl.TEXTURE2);
    gl.bindTexture(gl.TEXTURE_2D, this.sky_map.texture);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    const grounded = scene.grounded, above = camera.eye[2] > drawing.floor;
    if (grounded && above) this.floor(camera, light, drawing, shade);
    this.surfaces(drawing.solid, shade, shelf);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    this.surfaces(drawing.clear, shade, shelf);
    if (grounded && !above) {                             // seen from below it is a veil
      gl.blendColor(0, 0, 0, VEIL);
      gl.blendFunc(gl.CONSTANT_ALPHA, gl.ONE_MINUS_CONSTANT_ALPHA);
      this.floor(camera, light, drawing, shade, false);
    }
    if (drawing.marks) this.draw_marks(camera, drawing, shade, aspect);
  }

  // ---------------------------------------------------------------- marks

  open_marks([light]) {
    const gl = this.gl, array = attributes => {
      const made = {array: gl.createVertexArray(), buffers: []};
      gl.bindVertexArray(made.array);
      attributes.forEach(([sizes, type, stride, divisor]) => {
        made.buffers.push(gl.createBuffer());
        gl.bindBuffer(gl.ARRAY_BUFFER, made.buffers[made.buffers.length - 1]);
        sizes.forEach(([place, size, at]) => {
          gl.enableVertexAttribArray(place);
          gl.vertexAttribPointer(place, size, type, true, stride, at);
          gl.vertexAttribDivisor(place, divisor);
        });
      });
      return made;
    };
    this.dot = this.program(["dots.vert"], [light, "dots.frag"], {SHADOW_SIZE: `${SHADOW}.0`});
    this.stroke = this.program(["segments.vert", "line.vert"], ["line.frag"]);
    this.dots = array([[[[0, 4, 0]], gl.FLOAT, 16, 0], [[[1, 4, 0]], gl.UNSIGNED_BYTE, 4, 0]]);
    this.strokes = array([[[[0, 4, 0], [1, 4, 16], [2, 4, 32]], gl.FLOAT, 48, 1]]);
  }

  // Shapes, dots and lines, faintly where a surface hides them.
  draw_marks(camera, {marks, marked, globe}, shade, aspect) {
    const gl = this.gl, {dots, dot_colors, strokes, stroke_colors} = marks, {width, height} = this.canvas;
    gl.blendColor(0, 0, 0, 0.6);
    [dots, dot_colors].forEach((x, k) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.dots.buffers[k]);
      gl.bufferData(gl.ARRAY_BUFFER, x, gl.STREAM_DRAW);
    });
    for (const [test, writes, from, rest] of [[gl.GREATER, false, gl.CONSTANT_ALPHA, gl.ONE_MINUS_CONSTANT_ALPHA], [gl.LEQUAL, true, gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA]]) {
      gl.depthFunc(test);
      gl.depthMask(writes);
      gl.blendFunc(from, rest);
      this.surfaces(marked, shade, this.shelf);
      gl.bindVertexArray(this.dots.array);
      this.use(this.dot, {...shade, rays: camera.rays(aspect), focus: 0.5 * height / Math.tan(0.5 * camera.fov)});
      gl.drawArrays(gl.POINTS, 0, dots.length / 4);
    }
    gl.depthMask(false);
    const count = strokes.length / 7, rows = new Float32Array(12 * count), planet = globe && globe.center && this.scene.sky;
    for (let i = 0; i < count; i++) {
      const s = strokes.subarray(7 * i, 7 * i + 7), hidden = planet && planet.hides(globe, camera.eye, [0, 1, 2].map(r => 0.5 * (s[r] + s[r + 3])));
      rows.set([s[0], s[1], s[2], s[6] * this.pixels, s[3], s[4], s[5], 0, ...[0, 1, 2, 3].map(r => stroke_colors[4 * i + r] / 255)], 12 * i);
      if (hidden) rows[12 * i + 11] *= BEHIND;
    }
    gl.bindVertexArray(this.strokes.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.strokes.buffers[0]);
    gl.bufferData(gl.ARRAY_BUFFER, rows, gl.STREAM_DRAW);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    for (const [test, opacity] of [[gl.GREATER, 0.3], [gl.LEQUAL, 1]]) {
      gl.depthFunc(test);
      this.use(this.stroke, {matrix: shade.matrix, size: [width, height], opacity});
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    }
    gl.depthFunc(gl.LEQUAL);
  }

  // Pixels of the canvas in one of the page.
  get pixels() { return this.canvas.width / Math.max(this.canvas.clientWidth, 1); }

  // The rows of a drawing go to the card once; its runs are surfaces, where their rows start, and how many there are.
  fill(rows, count) {
    const gl = this.gl, height = Math.max(Math.ceil(count / ROWS), 1), width = ROWS * ROW / 4;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.rows);
    if (height !== this.rows_height) gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, width, height, 0, gl.RGBA, gl.FLOAT, null);
    this.rows_height = height;
    this.filled = rows;
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, gl.RGBA, gl.FLOAT, rows);
  }

  shadows(light, drawing, quickly) {
    const {gl} = this, {bounds: {middle, radius}, origin} = drawing, half = [0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 0.5, 0.5, 0.5, 1];
    this.latest = 1 - this.latest;
    this.fill(drawing.rows, drawing.count);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    gl.clearColor(1, 1, 1, 1);
    return [[light.key, this.depth, this.shadow_map], [[0, 0, 1], this.moments, this.sky_map]].map(([towards, program, target], k) => {
      const anew = !quickly || k === this.latest || !this.spheres[k];
      if (anew) this.spheres[k] = {middle: middle.map((x, i) => x + origin[i]), radius};
      const sphere = this.spheres[k], matrix = orthographic(towards, sphere.middle.map((x, i) => x - origin[i]), sphere.radius);
      if (anew && target.frame) this.cast(program, target, matrix, drawing.casting);
      return product(half, matrix);
    });
  }

  cast(program, target, matrix, casting) {
    const {gl} = this;
    this.aim(target);
    gl.clear(target === this.shadow_map ? gl.DEPTH_BUFFER_BIT : gl.DEPTH_BUFFER_BIT | gl.COLOR_BUFFER_BIT);
    this.use(program, {matrix, rows: 0});
    for (const run of casting) this.run(program, run, this.coarse);
    if (target === this.shadow_map) return;
    gl.disable(gl.DEPTH_TEST);
    gl.bindVertexArray(this.empty);
    for (const [from, to, along] of [[this.sky_map, this.sky_blurred, [1 / SKY, 0]], [this.sky_blurred, this.sky_map, [0, 1 / SKY]]]) {
      this.aim(to);
      gl.activeTexture(gl.TEXTURE3);
      gl.bindTexture(gl.TEXTURE_2D, from.texture);
      this.use(this.blur, {image: 3, along});
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  // Draw into a map, which must not be read from meanwhile.
  aim(target) {
    const gl = this.gl;
    for (const unit of [gl.TEXTURE1, gl.TEXTURE2, gl.TEXTURE3]) {
      gl.activeTexture(unit);
      gl.bindTexture(gl.TEXTURE_2D, null);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.frame);
    gl.viewport(0, 0, target.size, target.size);
  }

  // What is around in space: darkness, a planet, the Sun, and stars.
  open_space() {
    const gl = this.gl;
    this.globe = this.program(["screen.vert"], ["globe.frag"]);
    this.stars = this.program(["stars.vert"], ["stars.frag"]);
    this.catalogue = gl.createVertexArray();
    gl.bindVertexArray(this.catalogue);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, this.scene.stars, gl.STATIC_DRAW);
    for (const k of [0, 1]) {
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 24, 12 * k);
    }
  }

  space(camera, light, aspect, globe) {
    const gl = this.gl, {sky} = this.scene, {chart, grain, count, air, soil, desert, wet} = sky, turn = camera.turn(aspect);
    const [below, height] = sky.seen(globe, camera.eye), a = globe.axes;
    for (const [unit, image] of [[gl.TEXTURE3, chart], [gl.TEXTURE4, grain]]) {
      gl.activeTexture(unit);
      gl.bindTexture(gl.TEXTURE_2D, this.images[image]);
    }
    const axes = [a[0], a[3], a[6], 0, a[1], a[4], a[7], 0, a[2], a[5], a[8], 0, 0, 0, 0, 1];
    this.use(this.globe, {rays: camera.rays(aspect), below, height, axes, key: globe.sun, disc: globe.center ? 1 : 0, dark: light.zenith,
      chart: 3, grain: 4, air, soil, desert, wet});
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE);
    gl.bindVertexArray(this.catalogue);
    this.use(this.stars, {turn, below, limb: Math.sqrt(1 - 1 / height ** 2), scale: this.canvas.height / 900});
    gl.drawArrays(gl.POINTS, 0, count);
    gl.disable(gl.BLEND);
  }

  // The ground: a wide square without shadows, and over it a smaller one with them.
  floor(camera, light, {bounds: {middle, radius}, around, floor}, shade, above = true) {
    const gl = this.gl, {side, extent: [, wide]} = this.scene;                              // of the whole motion
    const reach = 14 * Math.max(wide, 0.5 * camera.distance);
    const fall = Math.max(middle[2] - floor, 0) / light.key[2], long = radius / light.key[2];
    const shadow = [0, 1].map(i => middle[i] - light.key[i] * fall);
    const low = [0, 1].map(i => Math.min(middle[i] - radius, shadow[i] - long)), high = [0, 1].map(i => Math.max(middle[i] + radius, shadow[i] + long));
    const near = [0, 1].map(i => 0.5 * (low[i] + high[i])), half = 0.5 * Math.max(high[0] - low[0], high[1] - low[1]);
    const own = {grid: [around[0], around[1], reach, side], horizon: light.horizon.map(Math.sqrt)};
    gl.bindVertexArray(this.empty);
    if (above) gl.depthFunc(gl.ALWAYS);                   // it is drawn first; two squares in one plane cannot be told apart by depth
    const squares = [[this.ground, [around[0], around[1], floor], reach], [this.shaded_ground, [...near, floor], half]];
    for (const [program, place, half_side] of above ? squares : squares.slice(0, 1)) {
      this.use(program, {...shade, ...own, middle: place, halves: [half_side, 0, 0, half_side]});
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
    gl.depthFunc(gl.LEQUAL);
  }

  surfaces(runs, shade, shelf) {
    const gl = this.gl;
    let current = null;
    for (const run of runs) {
      const image = this.scene.surfaces[run.surface].texture, program = image === null ? this.surface : this.textured;
      if (program !== current) this.use(current = program, shade);
      if (image !== null) {
        gl.activeTexture(gl.TEXTURE3);
        gl.bindTexture(gl.TEXTURE_2D, this.images[image]);
      }
      this.run(program, run, shelf);
    }
  }

  run(program, {surface, first, count}, shelf) {
    const gl = this.gl, shelved = shelf[surface];
    gl.bindVertexArray(shelved.array);
    gl.vertexAttrib4f(2, 1, 1, 1, 1);                     // of surfaces without colours of their vertices
    gl.uniform1i(program.places.first.at, count > 1 ? first : -1);
    if (count === 1) gl.uniform4fv(program.places["alone[0]"].at, this.filled, ROW * first, ROW);
    gl.drawElementsInstanced(gl.TRIANGLES, shelved.count, shelved.type, 0, count);
  }
}

// World to clip coordinates of a light from far away in a direction, about a sphere.
function orthographic(z, middle, radius) {
  const side = Math.hypot(z[2], z[0]), x = side > 0.1 ? [z[2] / side, 0, -z[0] / side] : [0, z[2], -z[1]].map(v => v / Math.hypot(z[1], z[2]));
  const y = [z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]];
  const shrunk = a => a.map(v => v / radius);
  return looking([shrunk(x), shrunk(y), shrunk(z.map(v => -v))], middle);
}

// Whether the processor draws by itself: many samples of a pixel would take it too long.
function software() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return false;
  const info = gl.getExtension("WEBGL_debug_renderer_info"), name = gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
