"""The policy pack of this project: ``pulumi preview --policy-pack policies`` runs it."""

from modelyard.engine.policy_pack import serve

serve(__file__)
