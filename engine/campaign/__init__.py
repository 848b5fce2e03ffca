"""Campaigns: many runs of one simulation with scattered masses, beginnings and gains, on one machine or many, the same bits on all.

``Campaign`` says what is scattered, ``run`` runs what is missing in a folder, ``load_campaign`` reads it, ``rerun`` shows one run in full.
"""

from engine.calls import check_calls
from engine.campaign.campaign import Campaign
from engine.campaign.campaign_examples import EXAMPLES, OF_RUNS
from engine.campaign.design import CampaignError
from engine.campaign.estimates import Estimate
from engine.campaign.loaded import Runs, load_campaign
from engine.docstrings import add_examples

__all__ = ["Campaign", "CampaignError", "Estimate", "Runs", "load_campaign"]

add_examples(Campaign, EXAMPLES)
add_examples(Runs, OF_RUNS)
check_calls(__name__)
