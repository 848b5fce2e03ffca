"""Small SDF texts, a rule of the format each, of which Drake's numbers are kept."""

from __future__ import annotations


def body(k: int, pose: str = "0 0 0 0 0 0") -> str:
    """Return an <inertial> that no other link has."""
    return (f"<inertial><pose>{pose}</pose><mass>{1 + 0.5 * k}</mass><inertia><ixx>{0.3 + 0.1 * k}</ixx><iyy>{0.4 + 0.05 * k}</iyy>"
            f"<izz>{0.35 + 0.1 * k}</izz><ixy>0.02</ixy><ixz>-0.01</ixz><iyz>0.03</iyz></inertia></inertial>")  # fmt: skip


def two(joint: str, version: str = "1.9", more: str = "", link: str = "<pose>0.4 -0.2 0.7 0.3 -0.5 0.8</pose>") -> str:
    """Return a model of two links, the first of which is fixed to the world, and a joint "j" between them."""
    return f"""<sdf version="{version}"><model name="m"><pose>0.1 0.2 0.3 0.2 0.1 -0.4</pose>
    <link name="a"><pose>0.2 0.1 -0.3 -0.1 0.4 0.2</pose>{body(0, "0.1 0 0.2 0.3 0 0")}</link>
    <link name="b">{link}{body(1, "-0.1 0.2 0.1 0 0.5 0.3")}</link>{more}
    <joint name="hold" type="fixed"><parent>world</parent><child>a</child></joint>{joint}</model></sdf>"""


def joint(kind: str, rest: str, pose: str = "<pose>0.1 -0.3 0.2 0.5 0.2 -0.6</pose>") -> str:
    return f'<joint name="j" type="{kind}">{pose}<parent>a</parent><child>b</child>{rest}</joint>'


def axis(xyz: str, rest: str = "", tag: str = "axis", expressed: str = "") -> str:
    return f"<{tag}><xyz{expressed}>{xyz}</xyz>{rest}</{tag}>"


FREE = "<limit><lower>-inf</lower><upper>inf</upper></limit>"
AT_ORIGIN = "<pose>0 0 0 0.5 0.2 -0.6</pose>"
TEXTS = {
    "revolute": two(joint("revolute", axis("0.3 0.5 -0.2", FREE))),
    "revolute at the child's origin": two(joint("revolute", axis("0.3 0.5 -0.2"), AT_ORIGIN)),
    "continuous without a pose": two(joint("continuous", axis("0 1 0"), "")),
    "prismatic": two(joint("prismatic", axis("0.3 0.5 -0.2"))),
    "prismatic, axis along that of a link": two(joint("prismatic", axis("1 0.5 0", expressed=' expressed_in="a"'))),
    "revolute, axis along the model": two(joint("revolute", axis("1 0.5 0", expressed=' expressed_in="__model__"'))),
    "ball": two(joint("ball", "")),
    "ball without a pose": two(joint("ball", "", "")),
    "universal": two(joint("universal", axis("1 0 0") + axis("0 1 0", tag="axis2"))),
    "universal of unequal axes": two(joint("universal", axis("0 0 1", "<dynamics><damping>0.1</damping></dynamics>")
                                           + axis("0 1 0", tag="axis2"))),
    "screw": two(joint("screw", axis("0 0.6 0.8") + "<screw_thread_pitch>0.7</screw_thread_pitch>")),
    "screw, written the old way": two(joint("screw", axis("0 0.6 0.8") + "<thread_pitch>2.5</thread_pitch>")),
    "screw that says no pitch": two(joint("screw", axis("0 0.6 0.8"))),
    "axes of 1.6": two(joint("revolute", axis("0.3 0.5 -0.2")), "1.6"),
    "axes of 1.6 along the model": two(joint("revolute", axis("0.3 0.5 -0.2", "<use_parent_model_frame>1</use_parent_model_frame>")),
                                       "1.6"),
    "relative to a frame on a frame": two(
        joint("revolute", axis("1 0 0"), '<pose relative_to="f">0 0.1 0 0.1 0 0</pose>'), "1.11",
        '<frame name="g" attached_to="b"><pose relative_to="a" degrees="true">0.3 0 0 30 0 45</pose></frame>'
        '<frame name="f" attached_to="g"><pose>0.1 0.2 0 0 0 0.3</pose></frame>',
        '<pose relative_to="a" rotation_format="quat_xyzw">0 0.5 0   0.1 0.7 0.1 0.7</pose>'),
    "ends that are frames": two(
        '<joint name="j" type="revolute"><pose>0.1 0.2 0.3 0 0.2 0</pose><parent>f</parent><child>g</child>'
        '<axis><xyz>0 1 1</xyz></axis></joint>', "1.9",
        '<frame name="f" attached_to="a"><pose>0.1 0.2 0 0 0 0.3</pose></frame>'
        '<frame name="g" attached_to="b"><pose>0.3 0.2 0.1 0.1 0.2 0.3</pose></frame>'),
    "floating": f'<sdf version="1.8"><model name="m"><pose>1 2 3 0.1 0.2 0.3</pose><link name="a"><pose>0.3 0 0 0 1 0</pose>{body(2)}'
                f'</link><link name="b">{body(1, "0.1 0.2 0.3 0.4 0.5 0.6")}</link>'
                '<joint name="j" type="revolute"><pose>0 0.2 0 0 0 0</pose><parent>a</parent><child>b</child>'
                '<axis><xyz>1 2 3</xyz></axis></joint></model></sdf>',
    "canonical link, placement frame": '<sdf version="1.9"><model name="m" canonical_link="b" placement_frame="grip">'
        f'<pose>1 2 3 0.1 0.2 0.3</pose><link name="a"><pose>0.3 0 0 0 1 0</pose>{body(2)}</link><link name="b">{body(0)}</link>'
        '<frame name="grip" attached_to="a"><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose></frame><joint name="j" type="prismatic">'
        '<parent>__model__</parent><child>a</child><axis><xyz>1 2 3</xyz></axis></joint></model></sdf>',
    "nested": f"""<sdf version="1.9"><model name="m"><pose>0.5 0 0 0 0 0.5</pose><link name="base">{body(0)}</link>
        <model name="arm" placement_frame="foot"><pose relative_to="seat">0 0.1 0 0 0.2 0</pose><link name="upper">
        <pose>0.2 0.3 0.1 0.4 0.2 0.1</pose>{body(1)}</link><link name="lower"><pose relative_to="upper">0 0 1 0 0 0</pose>{body(2)}</link>
        <frame name="foot" attached_to="upper"><pose>0 0 -0.5 0 0 0</pose></frame><joint name="elbow" type="revolute"><parent>upper</parent>
        <child>lower</child><axis><xyz>0 1 0</xyz></axis></joint><model name="hand"><pose relative_to="lower">0 0 0.7 0 0 0</pose>
        <link name="palm">{body(0)}</link></model><joint name="wrist" type="ball"><parent>lower</parent><child>hand</child></joint></model>
        <frame name="seat" attached_to="base"><pose>0 0 0.4 0.3 0 0</pose></frame>
        <joint name="hold" type="fixed"><parent>world</parent><child>base</child></joint>
        <joint name="shoulder" type="revolute"><parent>base</parent><child>arm::foot</child><axis>
        <xyz expressed_in="arm::hand::palm">1 0 1</xyz></axis></joint></model></sdf>""",
    "a world": f"""<sdf version="1.9"><world name="w"><gravity>0 0 -9.81</gravity><model name="one"><pose>1 0 0 0 0 1</pose>
        <link name="a">{body(0)}</link></model><model name="two"><pose relative_to="one">0 1 0 0 0.3 0</pose><static>true</static>
        <link name="a">{body(1)}</link></model><frame name="mark" attached_to="two::a"><pose>0.1 0 0 0 0 0</pose></frame>
        <model name="three"><pose relative_to="mark">0 0 1 0 0 0</pose><link name="a">{body(2)}</link><link name="b">
        <pose>0 1 0 0 0 0</pose>{body(1)}</link><joint name="j" type="revolute"><parent>a</parent><child>b</child>
        <axis><xyz>1 0 0</xyz></axis></joint></model></world></sdf>""",
    "a link without an inertial": two(joint("revolute", axis("1 2 0"))).replace(body(1, "-0.1 0.2 0.1 0 0.5 0.3"), ""),
    "mass alone": two(joint("revolute", axis("1 2 0"))).replace(body(1, "-0.1 0.2 0.1 0 0.5 0.3"), "<inertial><mass>3</mass></inertial>"),
    "weights by density": two(joint("revolute", axis("1 2 0")), "1.11").replace(
        body(1, "-0.1 0.2 0.1 0 0.5 0.3"), '<inertial auto="true"><density>50</density></inertial>' + "".join(
            f'<collision name="c{k}"><pose>0.{k} 0.{k} 0 0.3 0.{k} 0</pose><geometry>{shape}</geometry>{density}</collision>'
            for k, (shape, density) in enumerate((
                ("<box><size>0.2 0.3 0.4</size></box>", ""), ("<sphere><radius>0.2</radius></sphere>", "<density>20</density>"),
                ("<cylinder><radius>0.1</radius><length>0.6</length></cylinder>", ""),
                ("<capsule><radius>0.1</radius><length>0.4</length></capsule>", "<density>70</density>"),
                ("<ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid>", ""))))),
}  # fmt: skip
