from math import prod

import pytest

from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.recipes import banner, better_options, choose_data, experiment_mapping, load_recipe, recipes
from mlrank.yamlfile import dump_yaml


def test_recipes_are_listed_and_read(folder, recipe):
    assert recipes(folder) == ["tiny"]
    assert recipe.expected == {"A": {"f1_macro": 0.5, "ranking_loss": 0.2}, "B": {"f1_macro": 0.625}}
    assert [option.dataset for option in recipe.data] == ["user", "real", "fake"]
    assert recipe.claims[0].order == ("B", "A")
    assert recipe.default_grid == "coarse"


@pytest.mark.parametrize("name", ["tinny", "../tiny", "tiny.yaml", "/etc/passwd", "", "."])
def test_an_unknown_name_is_never_a_path(folder, name):
    with pytest.raises(UserError, match="unknown recipe"):
        load_recipe(name, folder)


def test_the_nearest_name_is_suggested(folder):
    with pytest.raises(UserError, match=r"unknown recipe 'tinny'. Did you mean 'tiny'\? Known: tiny"):
        load_recipe("tinny", folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title:", "titel:", r"2:1: unknown key of a recipe 'titel'. Did you mean 'title'\?"),
        ("how_to: fetch real", "howto: x", r"8:\d+: unknown key of a recipe 'howto'. Did you mean 'how_to'\?"),
        ("grade: exact", "grade: good", r"8:28: input should be 'exact', .*found 'good'"),
        ("table: Table 9\n", "", r"1:1: the key 'table' is missing"),
        ("f1_macro: 0.625", "f1_makro: 0.625", r"21:\d+: unknown metric 'f1_makro'. Did you mean 'f1_macro'"),
        ("paper: {B:", "paper: {C:", r"18:\d+: unknown method 'C'. .*Known: A, B"),
        ("order: [B, A]", "order: [B, D]", r"23:67: unknown method 'D'"),
        ("metrics: [f1_macro, ranking_loss]", "metrics: [f1]", r"23:31: unknown metric 'f1'"),
        ("  split:", "  name: x\n  split:", r"11:9: 'name' is set by the recipe"),
        ("name: tiny", "name: huge", r"1:7: the recipe is called 'huge' but its file 'tiny.yaml'"),
        ("dataset: fake", "dataset: real", r"9:15: the data option 'real' is listed twice"),
        ("  coarse:", "  rough:", r"1:1: unknown grid 'coarse'"),
        ("B: {f1_macro: 0.625}", "B: {f1_macro: much}", r"21:17: input should be a valid number.*found 'much'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(folder, old, new, message):
    path = folder / "tiny.yaml"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=f"tiny.yaml:{message}"):
        load_recipe("tiny", folder)


def test_the_first_usable_data_win_and_files_of_the_user_come_first(recipe):
    assert choose_data(recipe, lambda name: True, user_files=False).dataset == "real"
    assert choose_data(recipe, lambda name: name == "fake", user_files=False).dataset == "fake"
    assert choose_data(recipe, lambda name: False, user_files=True).dataset == "user"


def test_no_usable_data_says_how_to_get_some(recipe):
    with pytest.raises(UserError, match="no data for the recipe 'tiny': use --data; or fetch real; or it is generated"):
        choose_data(recipe, lambda name: False, user_files=False)


def test_a_recipe_without_user_files_refuses_them(recipe):
    fixed = recipe.model_copy(update={"data": recipe.data[1:]})
    with pytest.raises(UserError, match="takes no files of your own"):
        choose_data(fixed, lambda name: True, user_files=True)


def test_the_experiment_takes_the_grid_and_what_the_option_overrides(recipe):
    mapping = experiment_mapping(recipe, recipe.data[1], "coarse")
    assert mapping == {
        "name": "tiny",
        "datasets": ["real"],
        "split": {"kind": "holdout", "train": 6, "test": 4},
        "subset": {"rows": 10},
        "methods": {
            "A": {"solver": "binary_svm", "C": [1, 8]},
            "B": {"solver": "rank_svm", "threshold": "svr_midpoint", "C": 8},
        },
        "recipe": {"name": "tiny", "part": "table", "grid": "coarse", "option": "real"},
    }


def test_another_grid_gets_a_results_folder_of_its_own_and_leaves_the_recipe_alone(recipe):
    mapping = experiment_mapping(recipe, recipe.data[2], "paper")
    assert mapping["name"] == "tiny-paper"
    assert mapping["methods"]["A"] == {"solver": "binary_svm"}
    assert mapping["methods"]["B"]["C"] == "2^0..2^3"
    assert mapping["subset"] == {"rows": 20, "top_labels": 3}
    mapping["methods"]["B"]["C"] = mapping["subset"]["rows"] = 0
    assert experiment_mapping(recipe, recipe.data[2], "paper")["methods"]["B"]["C"] == "2^0..2^3"
    assert recipe.experiment["subset"]["rows"] == 20


def test_files_of_the_user_enter_the_experiment(recipe):
    files = {"train": "a.svm", "test": "b.svm"}
    assert experiment_mapping(recipe, recipe.data[0], "coarse", files)["datasets"] == [files]
    with pytest.raises(ValueError, match="user_data"):
        experiment_mapping(recipe, recipe.data[0], "coarse")
    with pytest.raises(ValueError, match="user_data"):
        experiment_mapping(recipe, recipe.data[1], "coarse", files)


def test_an_unknown_grid_is_a_users_mistake(recipe):
    with pytest.raises(UserError, match=r"unknown grid of the recipe 'tiny' 'papper'. Did you mean 'paper'\?"):
        experiment_mapping(recipe, recipe.data[1], "papper")


def test_the_first_lines_say_which_data_ran_and_how_to_get_better_ones(recipe):
    real, fake = recipe.data[1:]
    assert banner(recipe, recipe.table, real, []) == [
        "tiny: Table 9 of Somebody, 2000",
        "data: real (same data and split): the files of the paper",
    ]
    assert banner(recipe, recipe.table, fake, better_options(recipe, fake)) == [
        "tiny: Table 9 of Somebody, 2000",
        "data: fake (stand-in data): made up",
        "on stand-in data the numbers below say nothing about the paper",
        "better data: your files (same source, new sample): use --data",
        "better data: real (same data and split): fetch real",
    ]


PAPER = {
    "imageclef": {"Binary-SVM": (0.7128, 0.7294), "Rank-SVM": (0.7236, 0.7457), "Rank-HLapSVM": (0.7453, 0.7629)},
    "mediamill": {"Binary-SVM": (0.1865, 0.2381), "Rank-SVM": (0.2232, 0.2699), "Rank-HLapSVM": (0.2382, 0.2836)},
}
CHOSEN = {"imageclef": {"C": 8, "lam": 4, "nu": 2}, "mediamill": {"C": 1024, "lam": 32, "nu": 8}}


def shipped_experiment(name, place, grid):
    recipe = load_recipe(name)
    option = recipe.data[place]
    files = {"train": "a.svm"} if option.dataset == "user" else None
    text = dump_yaml(experiment_mapping(recipe, option, grid, files))
    return parse_config(text, f"{name}.yaml")


@pytest.mark.parametrize("name", PAPER)
def test_shipped_recipes_hold_the_numbers_and_the_claim_of_the_paper(name):
    recipe = load_recipe(name)
    found = {method: (values["f1_macro"], values["f1_micro"]) for method, values in recipe.expected.items()}
    assert found == PAPER[name]
    (claim,) = recipe.claims
    assert claim.order == ("Rank-HLapSVM", "Rank-SVM", "Binary-SVM")
    assert claim.metrics == ("f1_macro", "f1_micro")
    # the paper's own numbers fulfil the claim, or it would have been copied wrongly
    for metric in claim.metrics:
        values = [recipe.expected[method][metric] for method in claim.order]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("grid", ["coarse", "paper"])
@pytest.mark.parametrize("name", PAPER)
def test_shipped_recipes_make_valid_experiments_on_every_option(name, grid):
    for place, option in enumerate(load_recipe(name).data):
        config = shipped_experiment(name, place, grid)
        assert config.name == (name if grid == "coarse" else f"{name}-paper")
        assert list(config.methods) == ["Binary-SVM", "Rank-SVM", "Rank-HLapSVM"]
        assert config.search.folds == 5
        rows = {"imageclef": 3500, "mediamill": config.subset.rows or 2500}[name]
        assert config.split.train + config.split.test == rows, option.dataset
        # The paper draws its rows at random; each repeat draws them anew.
        assert (config.split.stratified, config.split.repeats) == (False, 3)


@pytest.mark.parametrize("name", PAPER)
def test_the_coarse_grid_is_small_and_holds_what_the_paper_chose(name):
    config = shipped_experiment(name, 1, "coarse")
    n_fits = sum(
        config.search.folds * prod(len(values) for _, values in method.axes) + 1 for method in config.methods.values()
    )
    assert 200 <= n_fits <= 250
    for grid in ("coarse", "paper"):
        axes = dict(shipped_experiment(name, 1, grid).methods["Rank-HLapSVM"].axes)
        assert all(value in axes[axis] for axis, value in CHOSEN[name].items())
        assert 0 in axes["lam"]
    assert 0 in axes["nu"]  # in the paper's grid; the coarse one leaves out weights that swamp the loss
    assert axes["C"] == tuple(2.0**power for power in range(-6, 14))
    assert (len(axes["lam"]), len(axes["nu"])) == (5, 5)


@pytest.mark.parametrize("name", PAPER)
def test_shipped_options_go_from_the_users_files_to_the_stand_in(name):
    grades = [option.grade for option in load_recipe(name).data]
    assert (
        grades
        == {
            "imageclef": ["same-source", "related", "stand-in"],
            "mediamill": ["same-source", "same-source", "stand-in"],
        }[name]
    )
